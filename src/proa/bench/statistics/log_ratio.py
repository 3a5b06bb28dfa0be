"""How many times as much: ratios of positive measurements that were taken in the same round.

Logarithms make a ratio a difference, so the interval is Student's over the rounds' log ratios,
and never below 0. Slow drift hits all of a round alike and cancels.
"""

import math
from collections.abc import Sequence

import msgspec

CONFIDENCE = 0.95


class RatioStats(msgspec.Struct, frozen=True):
    """The geometric mean of the rounds' ratios; the ends are None below 2 rounds."""

    estimate: float | None
    low: float | None
    high: float | None
    rounds: int
    confidence: float = CONFIDENCE


def ratio(
    above: Sequence[float], below: Sequence[float], *, confidence: float = CONFIDENCE
) -> RatioStats:
    """above[i] / below[i] over rounds; a round where one is not positive is left out.

    exp(mean ± t(rounds - 1) x deviation / sqrt(rounds)), of the logarithms.
    """
    logs = [
        math.log(high / low) for high, low in zip(above, below, strict=True) if high > 0 and low > 0
    ]
    count = len(logs)
    if not count:
        return RatioStats(None, None, None, 0, confidence)
    mean = math.fsum(logs) / count
    if count < 2:
        return RatioStats(math.exp(mean), None, None, count, confidence)
    variance = math.fsum((value - mean) ** 2 for value in logs) / (count - 1)
    half = student_quantile((1 + confidence) / 2, count - 1) * math.sqrt(variance / count)
    return RatioStats(
        math.exp(mean), math.exp(mean - half), math.exp(mean + half), count, confidence
    )


def student_quantile(share: float, freedom: int) -> float:
    """Of Student's t."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # a second to import

    return float(stdtrit(freedom, share))
