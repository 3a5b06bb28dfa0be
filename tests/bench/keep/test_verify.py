"""A report against its file: the same, or the place that differs by its name."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.bench.keep.kept_runs import written

from proa.bench.keep.kept import kept
from proa.bench.keep.report import report_of
from proa.bench.keep.verify import (
    as_json,
    count_values,
    differences,
    page_differences,
    read_report,
)
from proa.cli.bench.report_html import html_report
from proa.cli.texts import Texts
from proa.errors import InputError


@pytest.fixture
def report(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "run.sqlite"
    written(path)
    made: dict[str, Any] = as_json(report_of([kept(path)], None, language="en"))
    return made


def test_the_same_report_has_no_difference(report: dict[str, Any]) -> None:
    again = json.loads(json.dumps(report))
    assert list(differences(again, report)) == []
    assert count_values(report) > 200


@pytest.mark.parametrize(
    ("told", "found", "where"),
    [
        ({"a": [{"b": 1.0}]}, {"a": [{"b": 1.0000000000000002}]}, "a[0].b"),
        ({"a": 1}, {"a": 1, "b": None}, "b"),
        ({"a": 1, "b": 2}, {"a": 1}, "b"),
        ({"a": [1, 2]}, {"a": [1]}, "a[1]"),
        ({"a": None}, {"a": 0}, "a"),
        ({"a": True}, {"a": 1}, "a"),
    ],
)
def test_a_difference_is_named(told: Any, found: Any, where: str) -> None:
    assert [each.where for each in differences(told, found)] == [where]


def test_whole_numbers_may_be_written_either_way() -> None:
    assert list(differences({"a": 24}, {"a": 24.0})) == []


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_page_holds_its_report_and_shows_it(tmp_path: Path, language: str) -> None:
    path = tmp_path / "run.sqlite"
    written(path)
    runs = [kept(path)]
    report = as_json(report_of(runs, None, language=language))
    page = html_report(report, runs, Texts("bench_report", language))
    out = tmp_path / "report.html"
    out.write_text(page, encoding="utf-8")
    assert read_report(out) == report
    assert list(page_differences(page, page)) == []
    shown = f"{report['runs'][0]['levels'][0]['aggregate_tokens_per_s']:.1f}"
    forged = page.replace(f">{shown}<", ">999.9<")
    assert forged != page
    assert [each.told for each in page_differences(forged, page)] == ["999.9"] * page.count(
        f">{shown}<"
    )


@pytest.mark.parametrize("content", ["{}", "[]", "<html></html>", "no json", '{"levels'])
def test_what_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "report"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="no report of proa bench"):
        read_report(path)
