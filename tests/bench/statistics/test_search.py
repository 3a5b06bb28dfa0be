"""Which level next: each rung, then near the boundary, then the first one again."""

import random
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proa.bench.statistics.boundary import Places
from proa.bench.statistics.conclusion import conclude
from proa.bench.statistics.evidence import Evidence, Question
from proa.bench.statistics.search import (
    SearchSpec,
    is_over,
    is_time_to_look,
    next_level,
    rates_search,
    users_search,
)
from proa.errors import FieldError

LADDER = (8, 16, 24, 32, 48)


def measured(load: float, requests: int, kept: float, rng: random.Random) -> Evidence:
    good = sum(rng.random() < kept for _ in range(requests))
    return Evidence(load=load, requests=requests, mean=good / requests, seconds=float(requests))


def searched(spec: SearchSpec, edge: int, *, seed: int = 0, above: float = 0.3) -> list[Evidence]:
    """A cliff: all requests are ok up to `edge`, a share of `above` beyond it."""
    rng = random.Random(seed)
    history: list[Evidence] = []
    while (ask := next_level(history, spec, rng)) is not None:
        kept = 1.0 if ask.load <= edge else above
        history.append(measured(ask.load, ask.requests, kept, rng))
    return history


def test_rungs_come_in_random_order_first_or_ascending_on_request() -> None:
    orders = {
        tuple(one.load for one in searched(users_search(LADDER), 27, seed=seed)[:5])
        for seed in range(6)
    }
    assert len(orders) > 3
    assert all(sorted(order) == [8, 16, 24, 32, 48] for order in orders)
    ascending = searched(users_search(LADDER, ascending=True), 27)
    assert [one.load for one in ascending[:5]] == [8, 16, 24, 32, 48]


def test_then_the_loads_between_the_last_pass_and_the_first_failure() -> None:
    history = searched(users_search(LADDER), 27)
    assert all(24 <= one.load <= 32 for one in history[5:-1])
    assert history[-1].load == history[0].load
    assert len(history) < 20


def test_without_the_repeat_the_search_ends_at_the_boundary() -> None:
    history = searched(users_search(LADDER, repeat_first=False), 27)
    assert all(24 <= one.load <= 32 for one in history[5:])


@settings(max_examples=20, deadline=None)
@example(edge=5, seed=416, above=0.4)
@given(edge=st.integers(0, 48), seed=st.integers(0, 2**16), above=st.sampled_from([0.0, 0.4]))
def test_a_cliff_is_found_wherever_it_is(edge: int, seed: int, above: float) -> None:
    spec = users_search(LADDER, visit_requests=80)
    history = searched(spec, edge, seed=seed, above=above)
    found = conclude(history, spec)
    assert found is not None
    assert found.low <= edge
    assert found.high is None or found.high >= edge
    assert found.high is None or found.high - found.low <= spec.resolution
    assert {one.load for one in history} >= set(LADDER)


def test_the_search_ends_where_requests_end() -> None:
    spec = users_search(LADDER, most_requests=300)
    assert len(searched(spec, 27)) <= 8
    assert is_over([Evidence(load=8, requests=300, mean=1.0)], spec)


def test_a_place_counts_the_loads_that_pass() -> None:
    history = [Evidence(load=load, requests=90, mean=mean) for load, mean in ((8, 1.0), (16, 0.2))]
    places = Places(history, (4.0, 8.0, 12.0, 16.0), Question())
    assert places.ratios[2] == places.ratios[3] == 0
    assert places.interval(2.7) == (2, 3)
    assert [places.load(place) for place in range(5)] == [0, 4, 8, 12, 16]
    assert sum(places.weights) == pytest.approx(1)


def test_a_level_is_looked_at_when_each_user_has_ended_a_request() -> None:
    assert [n for n in range(40) if is_time_to_look(n, 20)] == [24, 32]
    assert [n for n in range(30) if is_time_to_look(n, 2)] == [16, 24]


def test_visits_that_tell_nothing_end_the_search() -> None:
    """A client that is the limit everywhere is not loaded for hours."""
    history: list[Evidence] = []
    while (ask := next_level(history, users_search(LADDER), random.Random(1))) is not None:
        history.append(Evidence(load=ask.load, requests=0, mean=0.0))
    assert len(history) <= 8
    assert conclude(history, users_search(LADDER)) is None


def test_no_levels_is_an_error() -> None:
    with pytest.raises(FieldError, match="levels"):
        users_search(())


@pytest.mark.parametrize("ladder", [(5.0, 10.0, 15.0), (0.5, 1.0, 40.0), (3.3, 7.7)])
def test_rates_have_places_between_them(ladder: tuple[float, ...]) -> None:
    grid = rates_search(ladder).grid
    assert set(ladder) <= set(grid)
    assert list(grid) == sorted(set(grid))
    assert (grid[-1], len(grid) <= 203) == (max(ladder), True)
    rung = min(high - low for low, high in pairwise((0.0, *sorted(ladder))))
    widest = max(high - low for low, high in pairwise((0.0, *grid)))
    assert widest <= max(rung / 8, ladder[-1] / 200) * 1.51
