"""What a search may say when it ends, and what it would take to say more."""

import math
from collections.abc import Iterable, Sequence

from proa.bench.statistics.boundary import CONFIDENCE, Boundary, Places
from proa.bench.statistics.evidence import Evidence
from proa.bench.statistics.isotonic import share_score
from proa.bench.statistics.search import SearchSpec

_LEAST_GAP = 0.4
_LEAST_SHIFT = 0.1
_DETOURS = 3.5
_SURE = 0.95


def conclude(history: Sequence[Evidence], spec: SearchSpec) -> Boundary | None:
    """The boundary as far as it is known; None where nothing was measured."""
    measured = [one for one in history if one.requests]
    if not measured:
        return None
    places = Places(measured, spec.grid, spec.question)
    low, high = places.interval(spec.limit)
    passes = _highest(load for load in _asked(places, spec) if load <= places.load(low))
    fails = _lowest(load for load in _asked(places, spec) if load > places.load(high))
    top = len(spec.grid)
    decided = high - low <= spec.resolution
    requests, minutes = (0, 0.0) if decided else _more(places, measured, spec)
    share, least = _attainment(places, passes)
    return Boundary(
        passes=passes,
        fails=fails,
        estimate=None if low == top else places.load(min(max(places.median(), low), high)),
        low=places.load(low),
        high=None if high == top else places.load(high),
        confidence=CONFIDENCE,
        decided=decided,
        attainment=share,
        attainment_low=least,
        more_requests=None if decided else requests,
        more_minutes=None if decided else minutes,
    )


def _asked(places: Places, spec: SearchSpec) -> list[float]:
    seen = {level.load for level in places.levels}
    return [load for load in spec.ladder if load in seen]


def _highest(loads: Iterable[float]) -> float | None:
    return max(loads, default=None)


def _lowest(loads: Iterable[float]) -> float | None:
    return min(loads, default=None)


def _attainment(places: Places, load: float | None) -> tuple[float | None, float | None]:
    """Of one level, and its lower end at 95 % (Clopper & Pearson by effective requests)."""
    level = next((one for one in places.levels if one.load == load), None)
    if level is None:
        return None, None
    if places.question.of_mean:
        return level.mean, level.mean - 1.645 / math.sqrt(level.weight)
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    good = level.mean * level.weight
    low = betaincinv(good, level.weight - good + 1, 1 - _SURE) if good > 0 else 0.0
    return level.mean, float(low)


def _more(places: Places, history: Sequence[Evidence], spec: SearchSpec) -> tuple[int, float]:
    """Requests that make the interval short enough, and their minutes with warm-up.

    Each end is to move to where the interval is short around its middle. The likelihood ratio
    there grows by 2 x the divergence of the level's pooled attainment from the threshold, for
    each effective request; the gap to the threshold is taken as at least 40 % of what may
    fail (of a mean, a tenth of its deviation), since nearer levels are not decided at all.
    A search takes 3.5 times that, in simulation, because it does not know where to measure;
    less than one visit it never is.
    """
    low, high = places.interval(spec.limit)
    from_place = min(max(places.median() - spec.resolution // 2, low), high - spec.resolution)
    to_place = from_place + spec.resolution
    ends = []
    if low < from_place:
        lacking = spec.limit - min(places.ratios[low:from_place])
        ends.append((places.load(from_place), lacking, True))
    if high > to_place:
        lacking = spec.limit - min(places.ratios[to_place + 1 : high + 1])
        ends.append((spec.grid[to_place], lacking, False))
    requests, seconds = 0.0, 0.0
    for load, lacking, passing in ends:
        wanted = _DETOURS * lacking / _growth(places, history, load, passing=passing)
        wanted = max(wanted, spec.visit_requests / len(ends))
        requests += wanted
        seconds += wanted * _seconds_a_request(history, load)
    return math.ceil(requests), seconds / 60


def _growth(places: Places, history: Sequence[Evidence], load: float, *, passing: bool) -> float:
    """Of the likelihood ratio, by a request at `load`."""
    threshold = places.question.threshold
    truth = _pooled_at(places, load)
    if places.question.of_mean:
        known = [one.deviation for one in history if one.deviation]
        deviation = sum(known) / len(known) if known else 1.0
        shift = max(abs(truth - threshold) / deviation, _LEAST_SHIFT)
        return shift**2 / places.effect
    gap = _LEAST_GAP * (1 - threshold)
    truth = max(truth, threshold + gap) if passing else min(truth, threshold - gap)
    apart = share_score(1.0, truth, truth) - share_score(1.0, truth, threshold)
    return 2 * apart / places.effect


def _pooled_at(places: Places, load: float) -> float:
    """The pooled curve, straight between levels."""
    curve, levels = places.curve(), places.levels
    after = next((n for n, level in enumerate(levels) if level.load >= load), len(levels) - 1)
    before = max(after - 1, 0)
    span = levels[after].load - levels[before].load
    share = min(max((load - levels[before].load) / span, 0.0), 1.0) if span else 1.0
    return curve[before] + (curve[after] - curve[before]) * share


def _seconds_a_request(history: Sequence[Evidence], load: float) -> float:
    nearest = min((abs(one.load - load) for one in history), default=0.0)
    near = [one for one in history if abs(one.load - load) <= nearest]
    return sum(one.seconds for one in near) / max(sum(one.requests for one in near), 1.0)
