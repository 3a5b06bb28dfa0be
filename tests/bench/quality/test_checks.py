"""What is right, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.bench.quality.checks import Check, checked, is_right, last_number, visible
from proa.errors import InputError


@pytest.mark.parametrize(
    ("check", "text", "expected"),
    [
        (Check(exact="Paris"), " paris. ", True),
        (Check(exact="Paris"), "It is Paris", False),
        (Check(exact="서울"), "\u1109\u1165\u110b\u116e\u11af", True),
        (Check(contains="48213"), "출입 번호는 48213번입니다.", True),
        (Check(contains="48213"), "4 8 2 1 3", False),
        (Check(regex=r"^\s*(yes|no)\b"), "no, never", True),
        (Check(regex=r"\bno\b"), "nothing", False),
        (Check(number=1168), "916 + 252 = 1,168", True),
        (Check(number=1168), "1168 is 916 + 252", False),
        (Check(number=3.14, tolerance=0.01), "about 3.1416", True),
        (Check(number=3.14), "about 3.1416", False),
        (Check(number=-5), "-5", True),
        (Check(number=7), "<think>7? or 8</think>it is 8", False),
        (Check(number=7), "no idea", False),
        (Check(), "anything", None),
    ],
)
def test_answers(check: Check, text: str, expected: bool | None) -> None:
    assert is_right(check, text) is expected


@given(st.integers(-(10**9), 10**9))
def test_numbers_are_read_with_and_without_commas(number: int) -> None:
    assert last_number(f"so it is {number:,}.") == number
    assert last_number(f"so it is {number}") == number


def test_thoughts_that_never_end_are_no_answer() -> None:
    assert visible("<think>12 or 13") == ""
    assert is_right(Check(number=12), "<think>12 or 13") is False


@pytest.mark.parametrize(
    ("check", "named"),
    [
        (Check(exact="a", number=1), "row"),
        (Check(regex="("), "row.regex"),
        (Check(number=1, tolerance=-1), "row.tolerance"),
    ],
)
def test_checks_that_cannot_be_used_are_refused(check: Check, named: str) -> None:
    with pytest.raises(InputError, match=named):
        checked(check, "row")
