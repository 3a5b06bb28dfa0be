"""Means and percentiles that say nothing which their number cannot carry.

A percentile is an order statistic, X[ceil(q·n)], and None where n is too small for an upper
bound: q^n > 5 %, so P95 needs 59 values and P99 299. Intervals (95 %) are order statistics too,
by the binomial law, without a model of the distribution.

Requests of one level run together and share the engine's mood: intervals are those of as many
independent ones as tell as much (`statistics/effective.py`), counted on ranks, so that single
large values do not hide it.
Source: Hahn & Meeker 1991, Statistical Intervals, section 5.2.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import msgspec

from proa.bench.statistics.effective import batch_variance, design_effect

CONFIDENCE = 0.95
Interval = tuple[float, float]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the requests of a level; None is "not measured" or "n too small".

    `mean` to `p99` are over the `n` successes that have it; `missing` are successes without.
    `with_failures` counts each failure as worse than all; there a None may also mean that
    the percentile itself is a failure. `effective_n` independent values tell as much as the
    `n`; the intervals are theirs.
    """

    mean: float | None = None
    p05: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    n: int = 0
    missing: int = 0
    effective_n: float | None = None
    p50_interval: Interval | None = None
    p95_interval: Interval | None = None
    p99_interval: Interval | None = None
    with_failures: dict[str, float | None] = {}


def summary(
    values: Iterable[float | None],
    *,
    failures: int = 0,
    higher_is_better: bool = False,
    together: int = 0,
) -> Summary:
    """Sum up one value for each success (None: it has none).

    Where `together` requests were under way at the same time, values are in the order of time;
    0: they are independent.
    """
    given = list(values)
    in_time = [value for value in given if value is not None]
    known = sorted(in_time)
    effective = _effective(in_time, known, together)
    worst = 0.0 if higher_is_better else math.inf
    adjusted = [worst] * failures + known if higher_is_better else known + [worst] * failures
    return Summary(
        mean=math.fsum(known) / len(known) if known else None,
        p05=percentile(known, 0.05),
        p50=percentile(known, 0.50),
        p95=percentile(known, 0.95),
        p99=percentile(known, 0.99),
        n=len(known),
        missing=len(given) - len(known),
        effective_n=effective if known else None,
        p50_interval=interval(known, 0.50, effective),
        p95_interval=interval(known, 0.95, effective),
        p99_interval=interval(known, 0.99, effective),
        with_failures={
            f"p{round(q * 100):02d}": _finite(percentile(adjusted, q))
            for q in (0.05, 0.5, 0.95, 0.99)
        },
    )


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """X[ceil(share·n)] of sorted values; None below the n that its confidence needs."""
    count = len(ordered)
    if not count or max(share, 1 - share) ** count > 1 - CONFIDENCE:
        return None
    return ordered[max(0, math.ceil(share * count - 1e-9) - 1)]


def interval(
    ordered: Sequence[float], share: float, effective: float | None = None
) -> Interval | None:
    """[X[l], X[u]] that holds the true percentile in at least 95 % of samples.

    l and u leave at most 2.5 % each of the binomial(n, share) outside; where the values are
    worth `effective` independent ones, they are those of so many, spread over the n values.
    None where that is too few for both ends.
    """
    found = len(ordered)
    count = found if effective is None else math.floor(min(effective, found) + 1e-9)
    if not count:
        return None
    tail = (1 - CONFIDENCE) / 2
    below = list(accumulate(_binomial(count, share)))
    low = _first_above(below, tail)
    high = _first_at_least(below, 1 - tail) + 1
    if low < 1 or high > count:
        return None
    each = (found + 1) / (count + 1)
    return ordered[math.floor(low * each) - 1], ordered[min(math.ceil(high * each), found) - 1]


def _effective(in_time: Sequence[float], ordered: Sequence[float], together: int) -> float:
    """How many independent values tell as much; equal values share a rank."""
    if not together:
        return float(len(in_time))
    ranks = [float(bisect_left(ordered, value) + bisect_right(ordered, value)) for value in in_time]
    return len(ranks) / design_effect([batch_variance(ranks, together)])


def _first_above(cumulated: Sequence[float], level: float) -> int:
    return next(index for index, value in enumerate(cumulated) if value > level)


def _first_at_least(cumulated: Sequence[float], level: float) -> int:
    last = len(cumulated) - 1
    return next((index for index, value in enumerate(cumulated) if value >= level), last)


def _binomial(count: int, share: float) -> list[float]:
    """P(k) for k = 0 … count."""
    logs = math.log(share), math.log1p(-share)
    ways = math.lgamma(count + 1)
    return [
        math.exp(
            ways - math.lgamma(k + 1) - math.lgamma(count - k + 1)
            + k * logs[0] + (count - k) * logs[1]
        )
        for k in range(count + 1)
    ]  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
