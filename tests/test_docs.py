"""The pages say what the code does: a heading for each setting, metric and error, no dead link."""

import re
import subprocess
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from proa.config.load import load
from proa.config.tables import KeysTable, ProaTable
from proa.domain.fleet import FleetView
from proa.domain.request_record import RequestRecord
from proa.errors import API_ERRORS, ApiError
from proa.routing.spec import PolicyName
from proa.telemetry.metrics import prometheus_text
from proa.telemetry.process import GatewayView, ProcessView
from proa.telemetry.rows import SharedRows

ROOT = Path(__file__).resolve().parents[1]
PAGES = subprocess.run(
    ["git", "ls-files", "-z", "--", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True
).stdout.split("\0")[:-1]


def headings(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^#+ (.+?)\s*$", _without_code(text), re.MULTILINE)


def _without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def _tables(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (list, Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _tables(argument)


def setting_names(table: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for attribute, field in table.model_fields.items():
        name = field.alias or attribute
        nested = list(_tables(field.annotation))
        if not nested or prefix:
            yield f"{prefix}{name}"
        for inner in nested:
            yield from setting_names(inner, f"{prefix}{name}.")


def test_every_setting_has_one_heading_and_every_heading_a_setting() -> None:
    told = [name[1:-1] for name in headings("docs/configuration.md") if name.startswith("`")]
    assert sorted(told) == sorted([*setting_names(ProaTable), *setting_names(KeysTable)])


def test_every_policy_is_told() -> None:
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert [name for name in PolicyName if f"| `{name.value}` |" not in page] == []


@pytest.mark.parametrize("row", API_ERRORS.values(), ids=lambda row: str(row.status))
def test_every_error_of_the_gateway_has_a_heading_and_its_types(row: ApiError) -> None:
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    assert f"### {row.status} `{row.code}`" in page
    section = page.split(f"### {row.status} ", 1)[1].split("\n### ", 1)[0]
    assert f"OpenAI `{row.type}`, Anthropic `{row.anthropic_type}`" in section


@pytest.mark.parametrize("page", PAGES)
def test_local_links_lead_somewhere(page: str) -> None:
    text = _without_code((ROOT / page).read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert linked.exists(), target
        if anchor:
            anchors = [_anchor(name) for name in headings(str(linked.relative_to(ROOT)))]
            assert anchor in anchors, target


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_metric_has_one_heading_and_every_heading_a_metric() -> None:
    view = GatewayView(
        rows=SharedRows.create(1),
        engine_slots={},
        key_slots={},
        fleet=FleetView(1, ()),
        process=ProcessView(),
        version="0",
    )
    served = re.findall(r"^# TYPE (\S+)", prometheus_text(view).decode(), re.MULTILINE)
    told = [name[1:-1] for name in headings("docs/metrics.md") if name.startswith("`")]
    assert sorted(told) == sorted(served)


def test_every_field_of_a_request_log_line_is_told() -> None:
    page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    table = page.split("| field of a request | |", 1)[1]
    assert [name for name in RequestRecord.__struct_fields__ if f"`{name}`" not in table] == []


@pytest.mark.parametrize("page", ["README.md", "README.ko.md"])
def test_the_sample_configuration_is_accepted(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    file = tmp_path / "proa.toml"
    file.write_text(text.split("```toml\n", 1)[1].split("```", 1)[0], encoding="utf-8")
    config = load(file, environ={})
    assert [engine.name for engine in config.gateway.engines] == ["main", "aux"]
    assert [route.name for route in config.gateway.routing.routes] == ["faq", "short", "rest"]
