"""Engines that learning cannot tell apart are the same to policies."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import exp, log


def drawn_together(values: Sequence[float], within: float) -> list[float]:
    """Each value as the geometric mean of those like it; those that are not above 0 stay.

    A value counts by 1 - |d| / within, d being the difference of logarithms, and not at all
    from `within` on: equals whose measurements scatter come to lie together, what is further
    apart than that stays as it is.
    """
    logs = sorted(log(value) for value in values if value > 0.0)
    if len(logs) < 2:
        return list(values)
    sums = list(accumulate(logs, initial=0.0))
    squares = list(accumulate((each * each for each in logs), initial=0.0))

    def mean(value: float) -> float:
        centre = log(value)
        low, middle = bisect_left(logs, centre - within), bisect_right(logs, centre)
        high = bisect_right(logs, centre + within)
        if logs[low] == logs[high - 1]:
            return value
        below, above = sums[middle] - sums[low], sums[high] - sums[middle]
        tilt = below - above + centre * (high - 2 * middle + low)
        tilt2 = squares[middle] - squares[low] - squares[high] + squares[middle]
        tilt2 += centre * (above - below)
        count = high - low + tilt / within
        return exp((below + above + tilt2 / within) / count)

    return [mean(value) if value > 0.0 else value for value in values]
