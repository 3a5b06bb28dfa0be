"""Requests by a schedule, whatever the answers do; with a cap, late ones wait for a place.

A capped request keeps its scheduled time, so its wait is in the scheduled latency and cannot
be omitted. Freed places send at once: the bursts that this makes are told as `dispersion`.
"""

from collections import deque
from collections.abc import Callable, Iterator

from proa.bench.closed_loop import Sender
from proa.bench.raw import RawExchange
from proa.bench.timers import Timers


class OpenLoop:
    """The share of one process in a schedule: offsets from `begin_s`, in order."""

    def __init__(
        self,
        offsets: Iterator[float],
        sender: Sender,
        timers: Timers,
        *,
        begin_s: float,
        max_concurrency: int | None = None,
    ) -> None:
        self._offsets = offsets
        self._sender = sender
        self._timers = timers
        self._begin_s = begin_s
        self._cap = max_concurrency
        self._in_flight = 0
        self._late: deque[float] = deque()
        self._stopping = False
        self._exhausted = False
        self._count = 0
        self._arm()

    @property
    def is_over(self) -> bool:
        """The schedule has ended, and so has every answer."""
        return self._stopping or (self._exhausted and not self._in_flight and not self._late)

    def stop(self) -> None:
        """Send nothing more."""
        self._stopping = True

    def _arm(self) -> None:
        offset_s = next(self._offsets, None)
        if offset_s is None:
            self._exhausted = True
            return
        due_s = self._begin_s + offset_s
        self._timers.call_at(due_s, self._due(due_s))

    def _due(self, due_s: float) -> Callable[[], None]:
        def due() -> None:
            if self._stopping:
                return
            if self._cap is not None and self._in_flight >= self._cap:
                self._late.append(due_s)
            else:
                self._send(due_s)
            self._arm()

        return due

    def _send(self, due_s: float) -> None:
        self._in_flight += 1
        self._count += 1
        self._sender(self._count - 1, due_s, self._ended)

    def _ended(self, raw: RawExchange) -> None:
        del raw
        self._in_flight -= 1
        if self._late and not self._stopping:
            self._send(self._late.popleft())
