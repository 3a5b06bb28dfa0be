"""Time that passes only when a test says so, for what runs on `proa.bench.timers`."""

import heapq
from collections.abc import Callable
from itertools import count


class VirtualTimers:
    """`advance` calls what is due, in order, with the clock at its due time."""

    def __init__(self, now_s: float = 0.0) -> None:
        self._now_s = now_s
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def now(self) -> float:
        return self._now_s

    def call_at(self, at_s: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._due, (max(at_s, self._now_s), next(self._order), callback))

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        until_s = self._now_s + seconds
        while self._due and self._due[0][0] <= until_s:
            self._now_s, _, callback = heapq.heappop(self._due)
            callback()
        self._now_s = until_s
