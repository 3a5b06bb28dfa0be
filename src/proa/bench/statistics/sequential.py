"""When a level is settled: a test that may be looked at after each request.

Wald's sequential test against a mixture of alternatives on each side. The mixture's likelihood
ratio is a martingale where the level is just at its threshold, and falls on the wrong side of
it, so that it ever exceeds 1 / alpha with a probability of at most alpha, however often one
looks (Ville). Requests that run at the same time are no independent ones: their number is
divided by the design effect.
Source: Wald 1945; Robbins 1970, Statistical methods related to the law of the iterated
logarithm; Ramdas et al. 2023, Game-theoretic statistics and safe anytime-valid inference.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

_BETTER = (0.6, 0.3, 0.1, 0.01)
_WORSE = (1.6, 3.0, 6.0, 12.0)
_SHIFTS = (0.1, 0.25, 0.5, 1.0)
_HIGHEST = 0.98
_LARGEST_EXPONENT = 700.0


class Verdict(StrEnum):
    """Of a level, with confidence."""

    PASS = "pass"
    FAIL = "fail"
    OPEN = "not decided"


def share_verdict(good: float, count: float, threshold: float, *, alpha: float = 0.05) -> Verdict:
    """Whether a share is at or above `threshold`.

    Units:
        good, count: effective requests (divided by the design effect), not whole ones.
    """
    bad, allowed = count - good, 1 - threshold

    def ratio(rate: float) -> float:
        return good * math.log((1 - rate) / threshold) + bad * math.log(rate / allowed)

    better = _mixed([ratio(allowed * factor) for factor in _BETTER])
    worse = _mixed([ratio(min(allowed * factor, _HIGHEST)) for factor in _WORSE])
    return _decided(better, worse, alpha)


def mean_verdict(mean: float, deviation: float, count: float, *, alpha: float = 0.05) -> Verdict:
    """Whether a mean margin is 0 or above; `deviation` is that of one request.

    Not modelled:
        that the deviation is estimated: wait for 20 effective requests.
    """
    if deviation <= 0:
        return Verdict.OPEN if not count else Verdict.PASS if mean >= 0 else Verdict.FAIL
    scaled = mean / deviation
    better = _mixed([count * shift * (scaled - shift / 2) for shift in _SHIFTS])
    worse = _mixed([count * shift * (-scaled - shift / 2) for shift in _SHIFTS])
    return _decided(better, worse, alpha)


def smallest_seen(count: float, threshold: float, *, alpha: float = 0.05) -> float:
    """The highest attainment below `threshold` that `count` effective requests tell from it.

    With four chances in five, by the normal law. What lies between is not decided by a run of
    this length, whatever it shows.
    """
    wanted = _quantile(1 - alpha) * math.sqrt(threshold * (1 - threshold))
    low, high = 0.0, threshold
    for _ in range(50):
        middle = (low + high) / 2
        needed = wanted + _quantile(0.8) * math.sqrt(middle * (1 - middle))
        seen = (threshold - middle) * math.sqrt(count) >= needed
        low, high = (middle, high) if seen else (low, middle)
    return low


def _quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def _mixed(logs: Sequence[float]) -> float:
    return sum(math.exp(min(log, _LARGEST_EXPONENT)) for log in logs) / len(logs)


def _decided(better: float, worse: float, alpha: float) -> Verdict:
    if max(better, worse) * alpha < 1:
        return Verdict.OPEN
    return Verdict.PASS if better > worse else Verdict.FAIL
