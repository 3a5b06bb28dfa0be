"""Isotonic pooling: attainment never rises with load, so levels lend each other their strength.

Pool adjacent violators gives the best falling curve. Cut at a place, so that all before it
keeps a threshold and all after it does not, it tells how well that place explains what was
measured: the profile likelihood of the boundary, without a shape of the curve.
Source: Barlow et al. 1972, Statistical Inference under Order Restrictions; Banerjee & Wellner
2001, Likelihood ratio tests for monotone functions, Annals of Statistics 29(6).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

_LEAST = 1e-6

Score = Callable[[float, float, float], float]
"""Log-likelihood of a block (weight, mean) where the truth is the third argument."""


class Level(NamedTuple):
    """All that was measured at one load: effective weight and mean."""

    load: float
    weight: float
    mean: float


def share_score(weight: float, mean: float, truth: float) -> float:
    """Of shares: binomial, `weight` in effective requests."""
    truth = min(max(truth, _LEAST), 1 - _LEAST)
    return weight * (mean * math.log(truth) + (1 - mean) * math.log1p(-truth))


def mean_score(weight: float, mean: float, truth: float) -> float:
    """Of means: normal, `weight` is effective requests over variance."""
    return weight * truth * (mean - truth / 2)


def falling(levels: Sequence[Level]) -> list[float]:
    """The best curve that never rises, a value for each level (by load, ascending)."""
    curve: list[float] = []
    for count, _, mean in _blocks(levels, falling=True)[-1] if levels else []:
        curve += [mean] * count
    return curve


def cut_scores(levels: Sequence[Level], threshold: float, score: Score) -> list[float]:
    """Best log-likelihood with the first k levels at or above `threshold`, the others below it.

    Shapes:
        levels: K by load, ascending. Result: K + 1, k = 0 … K.
    """
    before = _side(levels, score, lambda mean: max(mean, threshold), falling=True)
    after = _side(levels[::-1], score, lambda mean: min(mean, threshold), falling=False)
    return [left + right for left, right in zip(before, reversed(after), strict=True)]


def _side(
    levels: Sequence[Level], score: Score, bounded: Callable[[float], float], *, falling: bool
) -> list[float]:
    return [0.0] + [
        sum(score(weight, mean, bounded(mean)) for _, weight, mean in blocks)
        for blocks in _blocks(levels, falling=falling)
    ]


def _blocks(levels: Sequence[Level], *, falling: bool) -> list[list[tuple[int, float, float]]]:
    """Pools (levels, weight, mean) after each level."""
    pools: list[tuple[int, float, float]] = []
    after: list[list[tuple[int, float, float]]] = []
    for level in levels:
        count, weight, mean = 1, level.weight, level.mean
        while pools and (pools[-1][2] < mean if falling else pools[-1][2] > mean):
            more, others, their_mean = pools.pop()
            mean = (mean * weight + their_mean * others) / (weight + others)
            count, weight = count + more, weight + others
        pools.append((count, weight, mean))
        after.append(list(pools))
    return after
