"""When keys begin and end."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.config.moments import end_s, read_moment, start_s, written

DAY_S = 86_400.0
NEW_YEAR_S = 1_798_761_600.0  # date -u -d 2027-01-01 +%s
SEOUL = timezone(timedelta(hours=9))


def test_a_date_counts_to_its_end_in_utc() -> None:
    assert start_s(date(2027, 1, 1)) == NEW_YEAR_S
    assert end_s(date(2026, 12, 31)) == NEW_YEAR_S
    assert end_s(datetime(2027, 1, 1, 9, tzinfo=SEOUL)) == NEW_YEAR_S


@pytest.mark.parametrize(
    "value", ["2027-01-01", 1, 1.5, True, None, datetime.fromisoformat("2027-01-01"), date.max, []]
)
def test_what_is_no_moment_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"a date \(2027-01-31, in UTC\) or a date-time"):
        end_s(value)


@pytest.mark.parametrize(
    ("text", "at_s"),
    [
        ("90d", 1000.0 + 90 * DAY_S),
        ("2w", 1000.0 + 14 * DAY_S),
        ("12h", 1000.0 + 43_200),
        ("5m", 1300.0),
        ("7s", 1007.0),
        ("2026-12-31", NEW_YEAR_S),
        ("2027-01-01T09:00:00+09:00", NEW_YEAR_S),
        ("2027-01-01T00:00:00Z", NEW_YEAR_S),
    ],
)
def test_the_command_line(text: str, at_s: float) -> None:
    assert read_moment(text, 1000.0) == at_s


@pytest.mark.parametrize(
    "text",
    ["", "d", "1y", "-1d", "1.5h", "soon", "2027-13-01", "2027-01-01T00:00:00", "9999-12-31"],
)
def test_what_the_command_line_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="a time from now"):
        read_moment(text, 1000.0)


@given(st.integers(0, 4_000_000_000))
def test_what_is_written_is_read_again(at_s: int) -> None:
    assert read_moment(written(at_s + 0.7), 0.0) == at_s
