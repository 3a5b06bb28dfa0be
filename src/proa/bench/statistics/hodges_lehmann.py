"""The shift of paired measurements: robust against the rare long pause that a mean follows.

The estimate is the median of all Walsh averages (x_i + x_j) / 2, i <= j; the interval's ends
are order statistics of the same averages, by the distribution of Wilcoxon's signed rank.
Source: Hollander, Wolfe & Chicken 2014, Nonparametric Statistical Methods, sections 3.2 and 3.3.
Not modelled: differences whose law is not symmetric; there it is their pseudo-median.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
_EXACT_UP_TO = 100
_NEAR = 1e-14
_Values = npt.NDArray[np.float64]


class ShiftStats(msgspec.Struct, frozen=True):
    """A shift with its interval; `low` and `high` are None where `n` is too small for one."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    confidence: float = CONFIDENCE

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def shift(differences: Sequence[float], *, confidence: float = CONFIDENCE) -> ShiftStats:
    """Of independent differences; 95 % needs 6 of them. Units: those of the differences."""
    count = len(differences)
    if not count:
        return ShiftStats(None, None, None, 0, confidence)
    ordered = np.sort(np.asarray(differences, dtype=np.float64))
    averages = count * (count + 1) // 2
    middles = {(averages + 1) // 2, averages // 2 + 1}
    middle = sum(_kth(ordered, k) for k in middles) / len(middles)
    rank = interval_rank(count, confidence)
    if rank < 1:
        return ShiftStats(middle, None, None, count, confidence)
    low, high = _kth(ordered, rank), _kth(ordered, averages + 1 - rank)
    return ShiftStats(middle, low, high, count, confidence)


def interval_rank(count: int, confidence: float) -> int:
    """The k whose k-th smallest and k-th largest Walsh average hold the shift; 0: there is none.

    The greatest k with P(W <= k - 1) <= (1 - confidence) / 2: exact up to 100 differences,
    with the normal law beyond.
    """
    tail = (1 - confidence) / 2
    if count > _EXACT_UP_TO:
        mean = count * (count + 1) / 4
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return max(0, math.floor(mean + NormalDist().inv_cdf(tail) * deviation - 0.5) + 1)
    ways = np.ones(1)
    for rank in range(1, count + 1):
        padded = np.zeros(len(ways) + rank)
        padded[: len(ways)] += ways / 2
        padded[rank:] += ways / 2
        ways = padded
    return int(np.searchsorted(np.cumsum(ways), tail, side="right"))


def _kth(ordered: _Values, k: int) -> float:
    """The k-th smallest Walsh average, to 1e-14 of the range, without making all of them."""
    low, high = float(ordered[0]), float(ordered[-1])
    if _averages_up_to(ordered, low) >= k:
        return low
    near = _NEAR * (high - low)
    while True:
        middle = low + (high - low) / 2
        if high - low <= near or not low < middle < high:
            return high
        if _averages_up_to(ordered, middle) >= k:
            high = middle
        else:
            low = middle


def _averages_up_to(ordered: _Values, bound: float) -> int:
    """How many (x_i + x_j) / 2 with i <= j are at most `bound`."""
    reach = np.searchsorted(ordered, 2 * bound - ordered, side="right")
    return int(np.maximum(reach - np.arange(len(ordered)), 0).sum())
