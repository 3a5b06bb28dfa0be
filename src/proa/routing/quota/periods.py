"""Days and months of the calendar in one time zone."""

from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

MONTHS = 12


class Moment(NamedTuple):
    """A time: `now_s` on the clock of the windows, and where in the calendar that is.

    `day` is the date's ordinal (`date.toordinal`), `month` is 12 × year + month − 1. The
    ends are in seconds from now.
    """

    now_s: float
    day: int
    month: int
    day_ends_in_s: float
    month_ends_in_s: float


class Periods:
    """Remembers the day that it was last asked about: most questions are about the same."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._day_began_s = self._day_ends_s = self._month_ends_s = 0.0
        self._day = self._month = 0

    def at(self, unix_s: float, now_s: float) -> Moment:
        """The moment at a Unix time."""
        if not self._day_began_s <= unix_s < self._day_ends_s:
            self._turn(unix_s)
        return Moment(
            now_s, self._day, self._month, self._day_ends_s - unix_s, self._month_ends_s - unix_s
        )

    def _turn(self, unix_s: float) -> None:
        local = datetime.fromtimestamp(unix_s, self._zone)
        began = datetime(local.year, local.month, local.day, tzinfo=self._zone)
        first = began.replace(day=1)
        following = (first + timedelta(days=31)).replace(day=1)
        self._day, self._month = local.toordinal(), month_of(local)
        self._day_began_s = began.timestamp()
        self._day_ends_s = (began + timedelta(days=1)).timestamp()
        self._month_ends_s = following.timestamp()


def month_of(day: date) -> int:
    """The number of a month, counted from the year 0."""
    return MONTHS * day.year + day.month - 1


def first_day(month: int) -> int:
    """The ordinal of a month's first day."""
    return date(month // MONTHS, month % MONTHS + 1, 1).toordinal()
