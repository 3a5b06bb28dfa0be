"""Users in a closed loop: each sends its next request at once when its answer ended.

There are no waves: nobody waits for others. Warm-up and measurement are one uninterrupted
load; which requests count is decided from outside (`window.py`).
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from proa.bench.raw import RawEnd, RawExchange
from proa.bench.timers import Timers

FIRST_PAUSE_S = 0.5
"""The pause after a failure while no request has succeeded."""

_MEMORY = 0.1  # weight of the newest duration


class Sender(Protocol):
    """Sends a user's next request now; `scheduled_s` is when it was due in an open loop."""

    def __call__(
        self, user: int, scheduled_s: float | None, on_end: Callable[[RawExchange], None]
    ) -> None: ...


class ClosedLoop:
    """The users of one process; they start one after the other within `stagger_s`.

    After a failure a user is busy as long as a success would have taken: without a pause a
    server that refuses would be flooded, and with a shorter or longer one the share of
    failures would not be that of refused users.
    """

    def __init__(
        self,
        users: Sequence[int],
        sender: Sender,
        timers: Timers,
        *,
        begin_s: float,
        stagger_s: float,
    ) -> None:
        self._sender = sender
        self._timers = timers
        self._stopping = False
        self._typical_s: float | None = None
        self.pausing = 0
        """Users that wait after a failure."""
        for user, offset_s in zip(users, staggered(len(users), stagger_s), strict=True):
            timers.call_at(begin_s + offset_s, self._begin_of(user))

    @property
    def is_over(self) -> bool:
        """A closed loop ends only when it is stopped."""
        return self._stopping

    def stop(self) -> None:
        """Send nothing more."""
        self._stopping = True

    def _begin_of(self, user: int) -> Callable[[], None]:
        def begin() -> None:
            if not self._stopping:
                self._sender(user, None, ended)

        def resume() -> None:
            self.pausing -= 1
            begin()

        def ended(raw: RawExchange) -> None:
            if not failed(raw):
                self._learn(raw.ended_s - raw.sent_s)
                begin()
                return
            self.pausing += 1
            typical_s = FIRST_PAUSE_S if self._typical_s is None else self._typical_s
            self._timers.call_at(max(self._timers.now(), raw.sent_s + typical_s), resume)

        return begin

    def _learn(self, took_s: float) -> None:
        typical_s = took_s if self._typical_s is None else self._typical_s
        self._typical_s = typical_s + _MEMORY * (took_s - typical_s)


def staggered(users: int, stagger_s: float) -> list[float]:
    """Evenly spread offsets, the first 0."""
    return [stagger_s * index / users for index in range(users)]


def failed(raw: RawExchange) -> bool:
    """Whether the first bytes of an exchange show a failure already: no answer, or no 2xx."""
    status = raw.reads[0][9:10] if raw.reads else b""
    return raw.end is not RawEnd.COMPLETE or status not in (b"1", b"2")
