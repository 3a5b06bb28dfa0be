"""Points in time: as keys.toml holds them, and as the command line takes them."""

import re
from datetime import UTC, date, datetime, timedelta

_DURATION = re.compile(r"([0-9]{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_ACCEPTED = (
    "a date (2027-01-31, in UTC) or a date-time with its zone (2027-01-31T18:00:00+09:00), "
    "without quotes"
)
ACCEPTED_TEXT = (
    "a time from now (90d, 12h, 30m), a date (2027-01-31, to its end in UTC) or a date-time with "
    "its zone (2027-01-31T18:00:00+09:00)"
)


def end_s(value: object) -> float:
    """When something ends, in Unix time: a date counts to its end."""
    return _moment(value, timedelta(days=1)).timestamp()


def start_s(value: object) -> float:
    """When something began, in Unix time."""
    return _moment(value, timedelta(0)).timestamp()


def _moment(value: object, day: timedelta) -> datetime:
    try:
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.astimezone(UTC)
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day, tzinfo=UTC) + day
    except OverflowError:
        pass
    raise ValueError(_ACCEPTED)


def read_moment(text: str, now_s: float) -> float:
    """What the command line means, in Unix time.

    Raises:
        ValueError: it is none of the accepted forms, or too far away.
    """
    if found := _DURATION.fullmatch(text):
        return now_s + timedelta(**{_UNITS[found[2]]: int(found[1])}).total_seconds()
    try:
        whole = date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
        return end_s(whole)
    except ValueError:
        raise ValueError(ACCEPTED_TEXT) from None


def written(at_s: float) -> str:
    """A moment as TOML and people read it, in UTC and whole seconds."""
    return datetime.fromtimestamp(int(at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
