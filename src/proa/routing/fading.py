"""Means that forget."""

from math import exp


class FadingRatio:
    """A sum over another, both of which forget: the mean of the last `memory` of `count`."""

    def __init__(self, memory: float) -> None:
        self.under = 0.0
        self._memory = memory
        self._over = 0.0

    @property
    def value(self) -> float | None:
        return self._over / self.under if self.under > 0.0 else None

    def add(self, over: float, under: float, count: float) -> None:
        kept = exp(-count / self._memory)
        self._over = self._over * kept + over
        self.under = self.under * kept + under
