"""Flags, scenario and batch lines say the same; what cannot be used is refused by name."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.plan.worked import refused

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.command import configure
from proa.cli.plan.fields import FIELDS, Field, Kind
from proa.cli.plan.input import KEYS, asked_from_flags, asked_from_keys, batch_lines
from proa.cli.plan.values import accepted
from proa.errors import FieldError
from proa.units import Money


def from_flags(*arguments: str) -> PlanAsked:
    parser = argparse.ArgumentParser()
    configure(parser)
    return asked_from_flags(parser.parse_args(arguments))


def value_of(field: Field) -> st.SearchStrategy[Any]:
    """Values that a field accepts, as a scenario has them."""
    least, most = field.least or 0, min(field.most or 1e6, 1e6)
    match field.kind:
        case Kind.SWITCH:
            return st.just(value=True)
        case Kind.CHOICES:
            return st.lists(st.sampled_from(field.choices), min_size=1, max_size=3)
        case Kind.FILES:
            return st.lists(st.sampled_from(["a.log", "run.json"]), min_size=1, max_size=2)
        case Kind.TEXT:
            return st.sampled_from(field.choices or ("h100-80gb", "한글 이름", "a=b"))
        case Kind.COUNT | Kind.TOKENS:
            return st.integers(int(least), int(most))
        case Kind.PARAMETERS:
            return st.sampled_from(["30B", "8.2b", 70_000_000_000, "1.5T"])
        case Kind.MONEY:
            return st.sampled_from([5000, 0.12, "$5,000", "120원", "700만원", "450 USD"])
        case _:
            return st.floats(least, most)


QUESTIONS = st.fixed_dictionaries({}, optional={field.name: value_of(field) for field in FIELDS})


def as_flags(keys: dict[str, Any]) -> list[str]:
    told = []
    for name, value in keys.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            told.append(flag)
        elif name in ("calibrate", "catalogue"):
            told += [f"{flag}={path}" for path in value]
        else:
            text = ",".join(value) if isinstance(value, list) else str(value)
            told.append(f"{flag}={text}")
    return told


@given(keys=QUESTIONS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_flags_scenario_and_batch_ask_the_same(
    keys: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    by_keys = asked_from_keys(keys)
    assert from_flags(*as_flags(keys)) == by_keys
    directory = tmp_path_factory.mktemp("plan")
    scenario, batch = directory / "plan.toml", directory / "batch.jsonl"
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()]
    scenario.write_text("\n".join(lines), encoding="utf-8")
    assert from_flags(str(scenario)) == by_keys
    batch.write_text(json.dumps(keys), encoding="utf-8")
    assert list(batch_lines(batch)) == [by_keys]


def test_every_question_is_a_field_and_has_a_flag() -> None:
    assert sorted(KEYS) == sorted(PlanAsked.__struct_fields__)
    parser = argparse.ArgumentParser()
    configure(parser)
    told = parser.format_help()
    assert [field.flag for field in FIELDS if f"{field.flag} " not in told] == []


def test_flags_win_over_the_scenario(tmp_path: Path) -> None:
    scenario = tmp_path / "plan.toml"
    scenario.write_text('users = 3000\ngpu = "h100-80gb"\ncontext = "8K"\n', encoding="utf-8")
    asked = from_flags(str(scenario), "--gpu", "b200-180gb", "--context", "16384")
    assert (asked.users, asked.gpu, asked.context) == (3000, "b200-180gb", 16384)


def test_values_are_read_as_people_write_them() -> None:
    asked = from_flags(
        *("--context", "32K", "--params", "8.2B", "--users", "3,000", "--tariff", "120원"),
        *("--weights", "FP8", "--allow-weights", "fp8, int4", "--currency", "krw"),
    )
    assert asked.context == 32_768
    assert asked.params == 8.2e9
    assert asked.users == 3000
    assert asked.tariff == Money(120.0, "KRW")
    assert asked.weights == "fp8"
    assert asked.allow_weights == ("fp8", "int4")
    assert asked.currency == "KRW"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--active-share", "1.2"], "--active-share = '1.2': accepted is a share from 0 to 1"),
        (["--context", "-5"], "--context = '-5': accepted is a whole number of tokens from 1"),
        (["--users", "many"], "--users = 'many': accepted is a whole number from 1"),
        (["--users", "0"], "--users = '0'"),
        (["--users", "nan"], "--users = 'nan'"),
        (["--sessions", "2.5"], "--sessions = '2.5'"),
        (["--tokens-per-s", "0"], "--tokens-per-s = '0': accepted is a number above 0"),
        (["--tokens-per-s", "inf"], "--tokens-per-s = 'inf'"),
        (["--weights", "fp9"], "--weights = 'fp9': accepted is one of bf16, fp8"),
        (["--pue", "0.5"], "--pue = '0.5': accepted is a number from 1 to 5"),
        (["--tariff", "-1"], "--tariff = '-1': accepted is an amount from 0"),
        (["--gpu-memory-utilization", "1.5"], "--gpu-memory-utilization = '1.5'"),
        (["--users", "9", "--tokens-per-sec", "30"], "did you mean --tokens-per-s"),
        (["--user", "9"], "did you mean --users"),
        (["--sessions", "4", "--model", "Qwen/Qwen3-9B"], "Qwen/Qwen3-8B"),
        (["--sessions", "4", "--gpu", "h100-80"], "h100-80gb"),
        (["--sessions", "4", "--model", "none/config.json"], "model = 'none/config.json'"),
        (["--sessions", "4", "--calibrate", "no.log"], "calibrate = 'no.log'"),
        (["--sessions", "4", "--calibrate", __file__], "no start-up log of an engine"),
        (["--sessions", "4", "--context", "100", "--output-tokens", "200"], "context = 100"),
        (["--sessions", "4", "--weights", "int4", "--allow-weights", "fp8"], "weights = 'int4'"),
        (["--sessions", "4", "--extend-above-sessions", "3"], "extend_above.sessions = 3"),
        (["no.toml"], "no.toml: cannot be read"),
        ([], "nothing is asked"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    if arguments[:1] == ["--sessions"] and "--weights" in arguments:
        arguments = [*arguments, "--model", "Qwen/Qwen3-8B", "--gpu", "h100-80gb"]
    assert told in refused(capsys, *arguments)


def test_a_split_that_no_engine_starts_with_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--sessions", "4", "--model", "Qwen/Qwen3-8B", "--gpu", "h100-80gb"]
    said = refused(capsys, *asked, "--tp", "3")
    assert "tp = 3: accepted is one of 1, 2, 4, 8" in said
    assert "pp = 99" in refused(capsys, *asked, "--pp", "99")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("users = 1\nsesions = 4\n", ":2: sesions: no such key of a plan; did you mean sessions"),
        ("users = 1\n\nactive_share = 7\n", ":3: active_share = 7: accepted is a share"),
        ("users = true\n", ":1: users = True"),
        ("models = 3\n", "models = 3"),
        ('[[models]]\nmodel = "a"\nwieghts = "fp8"\n', "did you mean weights"),
        ("[[models]]\nsessions = 1\n[[models]]\nsessions = 0\n", ":4: models[1].sessions = 0"),
        ('[[alternatives]]\ngpu = "h100-80gb"\n', "a table with a name"),
        ("users = [\n", "is not TOML"),
    ],
)
def test_a_scenario_names_the_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, told: str
) -> None:
    scenario = tmp_path / "plan.toml"
    scenario.write_text(text, encoding="utf-8")
    assert told in refused(capsys, str(scenario))


GARBAGE: tuple[object, ...] = (
    None,
    True,
    -1,
    10**400,
    float("nan"),
    1e308,
    "",
    " ",
    "\0",
    "9" * 400,
    [],
    [None],
    {},
    [{}],
)


@given(name=st.sampled_from([*KEYS, "", "x"]), value=st.sampled_from(GARBAGE) | st.text(max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_value_is_read_or_refused(name: str, value: object) -> None:
    refusal = None
    try:
        asked_from_keys({name: value})
    except FieldError as error:
        refusal = error
    assert refusal is None or (refusal.field.startswith(name) and refusal.accepted)


def test_every_flag_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs/plan.md").read_text(encoding="utf-8")
    rows = [f"| `{field.flag}` | {field.help} | {accepted(field)} |" for field in FIELDS]
    assert [row for row in rows if row not in page] == []
