"""How fast a queue empties, and what to tell those for whom that is too slow."""

from collections.abc import Collection, Hashable
from math import ceil, exp, log

HALF_LIFE_S = 10.0
ENOUGH = 2.0  # starts, weighted, before the rate is believed
MAX_RETRY_AFTER_S = 120
NEEDS_KEPT = 256
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


class DrainRates:
    """A rate for each need; those that nobody waits for are forgotten when they are many."""

    def __init__(self) -> None:
        self._rates: dict[Hashable, DrainRate] = {}
        self._waited_for: set[Hashable] = set()

    def waiting(self, need: Hashable, now_s: float) -> None:
        """Somebody waits for it."""
        if need not in self._waited_for:
            self._waited_for.add(need)
            self._rates.setdefault(need, DrainRate()).waiting(now_s)

    def started(self, need: Hashable, now_s: float) -> None:
        """Somebody who waited for it has started."""
        self._rates[need].started(now_s)

    def keep(self, needs: Collection[Hashable], now_s: float) -> None:
        """These are all that somebody waits for now."""
        for need in self._waited_for.difference(needs):
            self._waited_for.remove(need)
            self._rates[need].empty(now_s)
            if len(self._rates) > NEEDS_KEPT:
                del self._rates[need]

    def wait_s(self, need: Hashable, ahead: int) -> float | None:
        """How long one waits for it with so many ahead, None while not known."""
        rate = self._rates.get(need)
        return None if rate is None else rate.wait_s(ahead)


def retry_after_s(wait_s: float | None, patience_s: float, *, unknown_s: int) -> int:
    """When to come back: as soon as a wait of `wait_s` will be one of `patience_s`.

    Whole seconds, at least 1, at most two minutes; `unknown_s` while the wait is not known.
    """
    if wait_s is None:
        return unknown_s
    return min(max(1, ceil(wait_s - patience_s)), MAX_RETRY_AFTER_S)
