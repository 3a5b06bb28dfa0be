"""Which level to visit next, and for how many requests at most.

First each level that was asked, in random order, then bisection by chance: a place is drawn
from where the boundary probably is, and the load just below or just above it is visited. So
the loads next to the boundary are visited again and again, in random order, until the interval
is short enough. At the end the first level comes once more, to tell drift; if that visit says that
visits differ by more than was seen, the search goes on.
Source: Waeber, Frazier & Henderson 2013, Bisection search with noisy responses.
"""

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from proa.bench.statistics.boundary import LIMIT, Places
from proa.bench.statistics.evidence import Evidence, Question
from proa.errors import FieldError

_LEAST_REQUESTS = 16
_LOOK_EVERY = 8
_BLIND_VISITS = 6
_PLACES_A_RUNG = 8
_MOST_PLACES = 200
_MANY_REQUESTS = 1_000_000  # a visit of an open loop lasts as long as its window


class SearchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A search for the boundary.

    `ladder` are the levels that were asked, each visited at least once; `grid` all loads that
    may be visited. The interval is short enough where `high` - `low` is at most `resolution`
    places of the grid; `limit` is its likelihood ratio. `visit_requests` are measured in one
    visit that is not settled before; the first visits, which only tell where to look, stop at
    `first_requests`. `most_requests` and `most_visits` end the search; time is
    the caller's.
    """

    ladder: tuple[float, ...]
    grid: tuple[float, ...]
    question: Question = Question()
    resolution: int = 2
    limit: float = LIMIT
    visit_requests: int = 60
    first_requests: int = 44
    most_requests: int = 10_000
    most_visits: int = 150
    ascending: bool = False
    repeat_first: bool = True

    def __post_init__(self) -> None:
        if not self.ladder:
            raise FieldError("levels", "", "one level or more")


class Ask(msgspec.Struct, frozen=True):
    """One visit: the load, and how many requests to measure at most."""

    load: float
    requests: int


def users_search(ladder: Sequence[int], **fields: Any) -> SearchSpec:
    """Over whole users, from 1 to the highest level asked."""
    grid = tuple(float(users) for users in range(1, max(ladder, default=0) + 1))
    made = SearchSpec(ladder=tuple(map(float, ladder)), grid=grid)
    return msgspec.structs.replace(made, **fields)


def rates_search(ladder: Sequence[float], **fields: Any) -> SearchSpec:
    """Over rates: an eighth of the shortest rung is a place, and every rate asked is one.

    The rung below the first is from 0. Of a ladder with very uneven rungs there are 200 places
    at most, and the rates asked.
    """
    asked = sorted(set(ladder))
    top = asked[-1] if asked else 0.0
    rungs = [high - low for low, high in pairwise([0.0, *asked])]
    step = max(min(rungs, default=0.0) / _PLACES_A_RUNG, top / _MOST_PLACES)
    steps = [round(step * n, 9) for n in range(1, math.floor(top / step + 1e-9) + 1)] if top else []
    near = [place for place in steps if all(abs(place - rate) > step / 2 for rate in asked)]
    made = SearchSpec(
        ladder=tuple(ladder), grid=tuple(sorted((*asked, *near))), most_requests=_MANY_REQUESTS
    )
    return msgspec.structs.replace(made, **fields)


def next_level(history: Sequence[Evidence], spec: SearchSpec, rng: random.Random) -> Ask | None:
    """The next visit; None where the search is over."""
    seen = {one.load for one in history}
    ladder = [load for load in spec.ladder if load not in seen]
    if ladder:
        first = min(spec.first_requests, spec.visit_requests)
        return Ask(min(ladder) if spec.ascending else rng.choice(ladder), first)
    if spec.repeat_first and _is_repeated(history, spec) and is_over(history, spec):
        return None
    if not is_over(history, spec):
        return Ask(_near_boundary(history, spec, rng), spec.visit_requests)
    if spec.repeat_first and history[-1].load != history[0].load:
        return Ask(history[0].load, spec.visit_requests)
    return None


def is_time_to_look(count: int, together: float) -> bool:
    """Whether a visit with `count` requests may be judged.

    Each 8, once as many have ended as are in flight together.
    """
    return count >= max(_LEAST_REQUESTS, together) and count % _LOOK_EVERY == 0


def is_over(history: Sequence[Evidence], spec: SearchSpec) -> bool:
    """Whether more visits are not needed, not affordable, or of no use."""
    if len(history) >= spec.most_visits or _is_blind(history):
        return True
    if sum(one.requests for one in history) >= spec.most_requests:
        return True
    places = Places(history, spec.grid, spec.question)
    low, high = places.interval(spec.limit)
    return high - low <= spec.resolution


def _is_blind(history: Sequence[Evidence]) -> bool:
    """Whether the last visits told nothing: the client is the limit, or nothing is measured."""
    last = history[-_BLIND_VISITS:]
    return len(last) == _BLIND_VISITS and not any(one.requests for one in last)


def _is_repeated(history: Sequence[Evidence], spec: SearchSpec) -> bool:
    """Whether the last visit was the first level again, after the search was over."""
    if len(history) < 2 or history[-1].load != history[0].load:
        return False
    before = history[:-1]
    return {one.load for one in before} >= set(spec.ladder) and is_over(before, spec)


def _near_boundary(history: Sequence[Evidence], spec: SearchSpec, rng: random.Random) -> float:
    places = Places(history, spec.grid, spec.question)
    low, high = places.interval(spec.limit)
    inside = range(low, high + 1)
    drawn = rng.choices(inside, [places.weights[place] for place in inside])[0]
    index = drawn - rng.choice((0, 1))
    return spec.grid[min(max(index, 0), len(spec.grid) - 1)]
