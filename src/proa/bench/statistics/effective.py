"""Effective sample size: requests that ran at the same time share the engine's mood.

Batch means: neighbours in time are put in batches; where requests are independent, the
variance of the batches' means times their size is the variance of one request. What is above
that is the design effect, and n / effect the number of independent requests that tell as much.
Source: Law & Kelton, Simulation Modeling and Analysis, section 9.5; Schmeiser 1982.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

_BATCHES = 8
_SMALLEST_BATCH = 4
_PRIOR = 2.0
_MOST = 25.0


class BatchVariance(NamedTuple):
    """Of one series: that of batch means (times their size), of single values, and how sure."""

    between: float
    single: float
    freedom: int


def batch_variance(values: Sequence[float], together: int = 1) -> BatchVariance | None:
    """Of values in the order of time, of which `together` were under way at the same time.

    A batch is at least as long as that, where this leaves two batches. None where the series
    is too short for two, or does not vary.
    """
    count = len(values)
    if count < 2 * _SMALLEST_BATCH:
        return None
    size = min(max(count // _BATCHES, _SMALLEST_BATCH, together), count // 2)
    batches = count // size
    used = values[count - batches * size :]
    mean = math.fsum(used) / len(used)
    single = math.fsum((value - mean) ** 2 for value in used) / (len(used) - 1)
    if single <= 0:
        return None
    means = [math.fsum(used[n : n + size]) / size for n in range(0, len(used), size)]
    between = size * math.fsum((m - mean) ** 2 for m in means) / (batches - 1)
    return BatchVariance(between, single, batches - 1)


def design_effect(found: Sequence[BatchVariance | None]) -> float:
    """How many requests tell as much as one independent one, over all series; 1 or more.

    Each series has few batches, so they are pooled, with a prior of 2 degrees of freedom
    that requests are independent.
    """
    known = [one for one in found if one is not None]
    total = _PRIOR + sum(one.freedom * one.between / one.single for one in known)
    effect = total / (_PRIOR + sum(one.freedom for one in known))
    return min(max(effect, 1.0), _MOST)


def effective_size(values: Sequence[float]) -> float:
    """Independent values that tell as much of the mean as these."""
    return len(values) / design_effect([batch_variance(values)])


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean of a series in the order of time; None below 8 values."""
    if len(values) < 2 * _SMALLEST_BATCH:
        return None
    mean = math.fsum(values) / len(values)
    single = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(single / effective_size(values))
