"""Two answers to each question, right or wrong: only the questions where they differ tell.

Sources: McNemar 1947; Bonett & Price 2012, Adjusted Wald confidence interval for a difference
of binomial proportions based on paired data, J. Educ. Behav. Stat. 37(4), for the interval.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec

CONFIDENCE = 0.95


class McNemarStats(msgspec.Struct, frozen=True, kw_only=True):
    """`only_a` questions that only the first answers right, `only_b` only the second.

    `difference` is the share right of the second less that of the first; `p_value` is exact
    and two-sided, for no difference.
    """

    pairs: int
    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float
    confidence: float = CONFIDENCE


def mcnemar(right: Sequence[tuple[bool, bool]], *, confidence: float = CONFIDENCE) -> McNemarStats:
    """Of pairs (first right, second right)."""
    pairs = len(right)
    only_a = sum(a and not b for a, b in right)
    only_b = sum(b and not a for a, b in right)
    both = sum(a and b for a, b in right)
    difference = low = high = None
    if pairs:
        difference = (only_b - only_a) / pairs
        low, high = _interval(only_a, only_b, pairs, confidence)
    return McNemarStats(
        pairs=pairs,
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=pairs - both - only_a - only_b,
        difference=difference,
        low=low,
        high=high,
        p_value=exact_p(only_a, only_b),
        confidence=confidence,
    )


def exact_p(only_a: int, only_b: int) -> float:
    """min(1, 2 P(X <= the smaller)), X binomial(only_a + only_b, 1/2); 1 where none differs."""
    differing = only_a + only_b
    below: int = sum(math.comb(differing, k) for k in range(min(only_a, only_b) + 1))
    total: int = 2**differing
    return min(1.0, 2 * below / total)


def _interval(only_a: int, only_b: int, pairs: int, confidence: float) -> tuple[float, float]:
    first, second = (only_a + 1) / (pairs + 2), (only_b + 1) / (pairs + 2)
    middle = second - first
    deviation = math.sqrt((first + second - middle**2) / (pairs + 2))
    half = NormalDist().inv_cdf((1 + confidence) / 2) * deviation
    return max(-1.0, middle - half), min(1.0, middle + half)
