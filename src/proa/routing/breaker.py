"""Circuit breaker and slow start of one engine, fed by the requests given to it."""

from enum import IntEnum

from proa.domain.outcome import Outcome
from proa.routing.spec import BreakerSpec

SLOW_START_FLOOR = 0.1


class BreakerState(IntEnum):
    """The values are those of the shared row's cell."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


def slow_start_share(since_s: float, now_s: float, slow_start_s: float) -> float:
    """Share of an engine that came into service at `since_s`: a tenth, growing linearly to 1."""
    age_s = now_s - since_s
    if age_s >= slow_start_s:
        return 1.0
    return SLOW_START_FLOOR + (1.0 - SLOW_START_FLOOR) * max(age_s, 0.0) / slow_start_s


class Breaker:
    """Closed → open after some broken tries in a row → half open after a time → closed.

    Only `BROKEN` and `OK` move it; every other outcome feeds nothing. When it is not
    closed, only trials move it: tries that began earlier, or that were sent because
    no other engine was left, end late and tell about the past. A trial is taken by
    `begin` and must be returned by `record`, whatever became of it. Each opening
    doubles the next open time until a slow start has passed to its end.
    """

    def __init__(self, spec: BreakerSpec) -> None:
        self._spec = spec
        self._state = BreakerState.CLOSED
        self._count = 0  # closed: broken tries in a row; half open: good trials in a row
        self._open_s = spec.open_s
        self._until_s = 0.0
        self._slow_since_s: float | None = None
        self._trial_out = False

    def state(self, now_s: float) -> BreakerState:
        """Where it stands; an open time that has passed turns into half open here."""
        if self._state is BreakerState.OPEN and now_s >= self._until_s:
            self._state = BreakerState.HALF_OPEN
            self._count = 0
        return self._state

    @property
    def troubled(self) -> bool:
        """Whether it is anything but closed, at full share and without failures in its count."""
        return bool(self._state or self._count or self._slow_since_s is not None)

    def share(self, now_s: float) -> float:
        """The part of its traffic that the engine may get.

        A trial that is due has the full share: one request is no flood, and a small
        share would keep a healthy engine out for as long as traffic is thin.
        """
        if self._state is BreakerState.CLOSED:
            if self._slow_since_s is None:
                return 1.0
            return self._slow_share(self._slow_since_s, now_s)
        due = self.state(now_s) is BreakerState.HALF_OPEN and not self._trial_out
        return 1.0 if due else 0.0

    def begin(self, now_s: float) -> bool:
        """A try starts; true if it is the trial, which `record` must then be told."""
        if self._state is BreakerState.CLOSED:
            return False
        if self.state(now_s) is BreakerState.OPEN or self._trial_out:
            return False
        self._trial_out = True
        return True

    def record(self, outcome: Outcome, now_s: float, *, trial: bool = False) -> None:
        """A try ended; a trial may be recorded as OK at its first good event already."""
        if trial:
            self._trial_out = False
        if outcome not in (Outcome.OK, Outcome.BROKEN):
            return
        broken = outcome is Outcome.BROKEN
        if self._state is BreakerState.CLOSED:
            self._count = self._count + 1 if broken else 0
            if self._count >= self._spec.failures:
                self._open(now_s)
        elif trial and self._state is BreakerState.HALF_OPEN:
            self._count += 1
            if broken:
                self._open(now_s)
            elif self._count >= self._spec.successes:
                self._close(now_s)

    def _slow_share(self, since_s: float, now_s: float) -> float:
        share = slow_start_share(since_s, now_s, self._spec.slow_start_s)
        if share >= 1.0:
            self._slow_since_s = None
            self._open_s = self._spec.open_s
        return share

    def _open(self, now_s: float) -> None:
        if self._slow_since_s is not None:  # has it recovered in full, unseen by `share`?
            self._slow_share(self._slow_since_s, now_s)
        self._state = BreakerState.OPEN
        self._until_s = now_s + self._open_s
        self._open_s = min(self._open_s * 2.0, self._spec.max_open_s)
        self._slow_since_s = None
        self._count = 0

    def _close(self, now_s: float) -> None:
        self._state = BreakerState.CLOSED
        self._slow_since_s = now_s
        self._count = 0
