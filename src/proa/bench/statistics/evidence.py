"""What one visit says of its level, and all visits together."""

import math
from collections.abc import Sequence
from itertools import groupby

import msgspec

from proa.bench.statistics.effective import BatchVariance, design_effect
from proa.bench.statistics.isotonic import Level
from proa.bench.statistics.sequential import Verdict, mean_verdict, share_verdict

_PRIOR_VISITS = 2.0
_LEAST_DEVIATION = 1e-3


class Question(msgspec.Struct, frozen=True):
    """What is asked of a level.

    That a share of requests is at least `threshold`; or, where `of_mean`, that the mean margin
    is (0 for what a clause bounds).
    """

    threshold: float = 0.95
    of_mean: bool = False


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One visit of a level.

    `mean` is the share of requests that were ok, or the mean margin; `deviation` that of one
    request's margin, None for shares. `requests` count what was measured, `seconds` the time
    of the visit, warm-up included.
    """

    load: float
    requests: float
    mean: float
    deviation: float | None = None
    batches: BatchVariance | None = None
    seconds: float = 0.0


def pooled(history: Sequence[Evidence]) -> tuple[list[Level], float]:
    """Levels by load with their effective weights, and the design effect of a request.

    The effect is that within visits, by batch means, times that between visits of one level,
    by Pearson's statistic: an engine has better and worse minutes.
    """
    effect = design_effect([one.batches for one in history])
    groups = _by_load(history)
    pearson = freedom = 0.0
    for visits in groups:
        mean = _mean(visits)
        pearson += sum(_weight(v, mean) * (v.mean - mean) ** 2 for v in visits) / effect
        freedom += len(visits) - 1
    effect *= max(1.0, (_PRIOR_VISITS + pearson) / (_PRIOR_VISITS + freedom))
    levels = [Level(visits[0].load, _total(visits) / effect, _mean(visits)) for visits in groups]
    return levels, effect


def verdict_of(
    visits: Sequence[Evidence], question: Question, effect: float, *, alpha: float = 0.05
) -> Verdict:
    """Of one level by its own visits; `effect` is the design effect."""
    count = sum(visit.requests for visit in visits)
    if not count:
        return Verdict.OPEN
    mean = sum(visit.requests * visit.mean for visit in visits) / count
    if not question.of_mean:
        good = mean * count / effect
        return share_verdict(good, count / effect, question.threshold, alpha=alpha)
    variance = sum(v.requests * (v.deviation or 0.0) ** 2 for v in visits) / count
    margin = mean - question.threshold
    return mean_verdict(margin, math.sqrt(variance), count / effect, alpha=alpha)


def _by_load(history: Sequence[Evidence]) -> list[list[Evidence]]:
    measured = [one for one in history if one.requests]
    ordered = sorted(measured, key=lambda one: one.load)
    return [list(visits) for _, visits in groupby(ordered, key=lambda one: one.load)]


def _mean(visits: Sequence[Evidence]) -> float:
    total = _total(visits)
    return sum(_single(visit) * visit.mean for visit in visits) / total


def _total(visits: Sequence[Evidence]) -> float:
    return sum(map(_single, visits))


def _single(visit: Evidence) -> float:
    """Requests of a share, precision of a mean."""
    if visit.deviation is None:
        return visit.requests
    return visit.requests / max(visit.deviation, _LEAST_DEVIATION) ** 2


def _weight(visit: Evidence, mean: float) -> float:
    """1 / the variance of the visit's mean, were its requests independent."""
    if visit.deviation is not None:
        return _single(visit)
    spread = max(mean * (1 - mean), 0.5 / (visit.requests + 1))
    return visit.requests / spread
