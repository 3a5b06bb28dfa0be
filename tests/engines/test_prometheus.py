"""Readings out of metrics pages, as engines and exporters write them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.engines.prometheus import Readings


def readings(page: str, *names: str) -> Readings:
    return Readings(page.encode(), names or ("a", "b"))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("a 3", 3.0),
        ("a 3.5e+06", 3_500_000.0),
        ("a 1e+06 1796048122906", 1_000_000.0),
        ("a\t3", 3.0),
        ("a  3  ", 3.0),
        ("a{} 3", 3.0),
        ('a{x="y"} 3', 3.0),
        ('a{x="y",} 3', 3.0),
        ('a {x="y"} 3', 3.0),
        ('a{x="}"} 3', 3.0),
        ('a{x="say \\"7\\" {"} 3', 3.0),
        ('a{x="y"} 3 # {trace="t"} 0.5', 3.0),
        ('a{x="한글"} 3', 3.0),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n# EOF\n", "\r\n# EOF\r\n"])
def test_lines_as_they_occur(line: str, value: float, end: str) -> None:
    assert readings(f"b 1{end or chr(10)}{line}{end}").total("a") == value


@pytest.mark.parametrize(
    "line",
    ["a Nan", "a NaN", "a +Inf", "a -Inf", "a -1", "a", "a ", "a x", 'a{x="y" 3', "a{ 3", "# a 3",
     "a_total 3", "ab 3", 'a_by_reason{reason="x"} 3', ""],
)  # fmt: skip
def test_what_is_no_reading_is_unknown_and_no_obstacle(line: str) -> None:
    page = readings(f"{line}\nb 1\n")
    assert (page.total("a"), page.total("b")) == (None, 1.0)


def test_series_are_summed_and_the_fullest_cache_counts() -> None:
    page = readings('a{engine="0"} 3\na{engine="1"} 4\nb{engine="0"} 0.2\nb{engine="1"} 0.9\n')
    assert page.count("a") == 7
    assert page.share("b") == 0.9
    assert readings("b 1.02\n").share("b") == 1.0


def test_ranks_that_tell_the_same_count_once() -> None:
    page = readings(
        'a{dp_rank="0",tp_rank="0"} 3\na{dp_rank="0",tp_rank="1"} 3\na{dp_rank="1",tp_rank="0"} 4\n'
    )
    assert page.count("a", copies=("tp_rank",)) == 7


def test_the_newer_name_goes_first_and_the_older_stands_in() -> None:
    assert readings("a 1\nb 2\n").total("a", "b") == 1.0
    assert readings("b 2\n").total("a", "b") == 2.0
    assert readings("a NaN\nb 2\n").total("a", "b") == 2.0
    assert readings("").total("a", "b") is None


def test_labels_choose() -> None:
    page = readings('a{type="waiting",m="x"} 3\na{type="waiting",m="y"} 1\na{type="max"} 9\n')
    assert page.total("a", type="waiting") == 4.0
    assert page.greatest("a", type="max") == 9.0
    assert page.total("a", type="other") is None


def test_escapes_in_labels() -> None:
    (series,) = readings('a{x="a\\\\b\\"c\\nd"} 1\n').series("a")
    assert series.labels == {"x": 'a\\b"c\nd'}


def test_missing_types_do_not_matter() -> None:
    with_types = "# HELP a text\n# TYPE a gauge\na 3\n"
    assert readings(with_types).total("a") == readings("a 3\n").total("a") == 3.0


@given(st.binary(max_size=200))
def test_no_page_breaks_it(page: bytes) -> None:
    value = Readings(page, ("a", "b")).total("a")
    assert value is None or (math.isfinite(value) and value >= 0)


_VALUES = st.floats(min_value=0, max_value=1e15)


@given(st.dictionaries(st.text(max_size=8), _VALUES, min_size=1, max_size=5))
def test_a_page_reads_back(values: dict[str, float]) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    page = "".join(f'a{{x="{escaped(key)}"}} {value!r}\n' for key, value in values.items())
    series = readings(page).series("a")
    assert {reading.labels["x"]: reading.value for reading in series} == values
