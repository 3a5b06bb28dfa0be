"""How fast a queue empties, and what to tell those for whom that is too slow."""

from math import ceil, exp, log

HALF_LIFE_S = 10.0
ENOUGH = 2.0  # starts, weighted, before the rate is believed
MAX_RETRY_AFTER_S = 120
_SOME_S = 1e-3


class DrainRate:
    """Starts per second while somebody waited; times of an empty queue count nothing.

    rate = sum of starts / sum of seconds, both fading with a half-life of 10 s
    """

    def __init__(self) -> None:
        self._starts = 0.0
        self._seconds = 0.0
        self._at_s: float | None = None

    @property
    def per_s(self) -> float | None:
        """None while too little was seen."""
        if self._starts < ENOUGH or self._seconds < _SOME_S:
            return None
        return self._starts / self._seconds

    def waiting(self, now_s: float) -> None:
        """Somebody has waited since the last call, or begins to wait now."""
        if self._at_s is not None:
            passed_s = max(0.0, now_s - self._at_s)
            kept = exp(-log(2.0) * passed_s / HALF_LIFE_S)
            self._starts *= kept
            self._seconds = self._seconds * kept + passed_s
        self._at_s = now_s

    def started(self, now_s: float) -> None:
        """One of those who waited has started."""
        self.waiting(now_s)
        self._starts += 1.0

    def empty(self, now_s: float) -> None:
        """Nobody waits any more."""
        self.waiting(now_s)
        self._at_s = None

    def wait_s(self, ahead: int) -> float | None:
        """How long one waits with so many ahead, None while not known."""
        rate = self.per_s
        return None if rate is None else ahead / rate


def retry_after_s(wait_s: float | None, patience_s: float, *, unknown_s: int) -> int:
    """When to come back: as soon as a wait of `wait_s` will be one of `patience_s`.

    Whole seconds, at least 1, at most two minutes; `unknown_s` while the wait is not known.
    """
    if wait_s is None:
        return unknown_s
    return min(max(1, ceil(wait_s - patience_s)), MAX_RETRY_AFTER_S)
