"""Timers that a test moves by hand."""

import heapq
from collections.abc import Callable


class ManualLoop:
    """What is due runs in `advance_to`, each callback `late_s` after its time."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.late_s = 0.0
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0

    def time(self) -> float:
        return self.now_s

    def call_soon(self, callback: Callable[[], object], /) -> object:
        return self.call_at(self.now_s, callback)

    def call_at(self, when: float, callback: Callable[[], object], /) -> object:
        self._count += 1
        heapq.heappush(self._due, (when, self._count, callback))
        return self._count

    def advance_to(self, at_s: float) -> None:
        """Let time pass, and run what became due."""
        while self._due and self._due[0][0] <= at_s:
            when, _, callback = heapq.heappop(self._due)
            self.now_s = max(self.now_s, when + self.late_s)
            callback()
        self.now_s = max(self.now_s, at_s)
