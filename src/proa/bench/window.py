"""Which requests of a level count, decided while the load runs on without a break.

Warm-up ends when its time is over and, in a closed loop, each user has ended one request, so
that the first wave, all in step, is not measured. Measured are the requests sent within the
window; the load is kept up by fillers until all of them have ended.
"""

from bisect import bisect_left, insort
from enum import StrEnum
from math import inf, nextafter

import msgspec


class WindowSpec(msgspec.Struct, frozen=True, kw_only=True):
    """When a level is enough: after `duration_s` or `requests`, whichever comes first.

    `max_s` ends it in any case, with what was measured until then.
    """

    warmup_s: float = 10.0
    duration_s: float | None = 30.0
    requests: int | None = None
    max_s: float | None = None


class Cause(StrEnum):
    """Why a level ended; `CUT_OFF`: killed, found in the file of the run."""

    DURATION = "duration"
    REQUESTS = "requests"
    ENOUGH = "enough"
    TIME = "time"
    INTERRUPTED = "interrupted"
    LOAD_OVER = "load_over"
    CUT_OFF = "cut_off"


class LevelWindow(msgspec.Struct, frozen=True):
    """Measured are requests sent in [start_s, sent_before_s); events count in [start_s, end_s)."""

    start_s: float
    end_s: float
    sent_before_s: float
    cause: Cause

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s

    def measures(self, sent_s: float) -> bool:
        """Whether a request sent then is measured, if it ended."""
        return self.start_s <= sent_s < self.sent_before_s


class LevelWatch:
    """Told what happens, in seconds of one clock; `window` is set as soon as it is enough."""

    def __init__(
        self, spec: WindowSpec, *, begin_s: float, users: int | None = None, shares: int = 1
    ) -> None:
        self.window: LevelWindow | None = None
        self.start_s: float | None = None
        self._spec = spec
        self._begin_s = begin_s
        self._first_wave = set(range(users or 0))
        self._ended: list[tuple[float, float]] = []
        self._horizons: dict[int, float] = dict.fromkeys(range(shares), begin_s)

    @property
    def measured(self) -> int:
        """Requests that count so far: sent since the warm-up, and ended."""
        return len(self._ended)

    def ended(self, user: int, *, sent_s: float, end_s: float) -> bool:
        """A request ended, well or not; returns whether it may count."""
        self._first_wave.discard(user)
        if self.start_s is None or sent_s < self.start_s:
            return False
        insort(self._ended, (sent_s, end_s))
        return True

    def tick(self, share: int, *, at_s: float, oldest_sent_s: float | None) -> None:
        """All that a process sent before `oldest_sent_s` (None: before now) has ended."""
        self._horizons[share] = at_s if oldest_sent_s is None else oldest_sent_s
        if self.window is not None:
            return
        spec = self._spec
        if self.start_s is None and at_s >= self._begin_s + spec.warmup_s and not self._first_wave:
            self.start_s = at_s
        self._by_requests()
        self._by_duration()
        if spec.max_s is not None and at_s >= self._begin_s + spec.max_s:
            self.cut(at_s, Cause.TIME)

    def cut(self, at_s: float, cause: Cause) -> None:
        """End now: counted is what was sent before the oldest request in flight."""
        if self.window is None:
            start_s = at_s if self.start_s is None else self.start_s
            sent_before_s = min(at_s, *self._horizons.values())
            self.window = LevelWindow(start_s, at_s, max(start_s, sent_before_s), cause)

    def load_over(self, at_s: float) -> None:
        """Nothing is sent any more, and everything has ended."""
        if self.window is None:
            start_s = at_s if self.start_s is None else self.start_s
            last_s = max((end_s for _, end_s in self._ended), default=at_s)
            self.window = LevelWindow(start_s, last_s, at_s, Cause.LOAD_OVER)

    def _by_requests(self) -> None:
        wanted = self._spec.requests
        if wanted is None or self.start_s is None or self.window is not None:
            return
        settled = bisect_left(self._ended, (min(self._horizons.values()), 0.0))
        if settled >= wanted:
            first = self._ended[:wanted]
            end_s = max(end_s for _, end_s in first)
            after_last_s = nextafter(first[-1][0], inf)  # those sent since then are fillers
            self.window = LevelWindow(self.start_s, end_s, after_last_s, Cause.REQUESTS)

    def _by_duration(self) -> None:
        duration_s = self._spec.duration_s
        if duration_s is None or self.start_s is None or self.window is not None:
            return
        end_s = self.start_s + duration_s
        if min(self._horizons.values()) >= end_s:
            self.window = LevelWindow(self.start_s, end_s, end_s, Cause.DURATION)
