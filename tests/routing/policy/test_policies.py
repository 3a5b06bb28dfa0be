"""What each policy promises, and what all do."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import loads

from proa.domain.request import RouteRequest
from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.registry import POLICIES, make_policy
from proa.routing.spec import PolicyName, RoutingSpec

ASKED = RouteRequest(path="/v1/chat/completions")
NAMES = ("a", "b", "c", "d", "e")


def policy(
    name: PolicyName,
    weights: dict[str, float] | None = None,
    memory: PolicyMemory | None = None,
    names: tuple[str, ...] = NAMES,
) -> Policy:
    return make_policy(
        RoutingSpec(policy=name, weights=weights or {}), names, memory or PolicyMemory()
    )


def test_every_name_has_a_policy() -> None:
    assert set(POLICIES) == set(PolicyName)


candidate_sets = st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True)


@given(
    name=st.sampled_from(PolicyName),
    sets=st.lists(candidate_sets, min_size=1, max_size=30),
    load=st.lists(st.integers(0, 9), min_size=5, max_size=5),
    weights=st.dictionaries(st.sampled_from(NAMES), st.floats(0, 10)),
    seed=st.integers(0, 1000),
)
def test_the_choice_is_among_the_candidates(
    name: PolicyName,
    sets: list[list[int]],
    load: list[int],
    weights: dict[str, float],
    seed: int,
) -> None:
    picking, rng = policy(name, weights), Random(seed)
    for candidates in sets:
        assert picking.pick(candidates, loads(load), ASKED, rng) in candidates


@given(candidates=candidate_sets, load=st.lists(st.integers(0, 9), min_size=5, max_size=5))
def test_least_load_takes_a_minimum(candidates: list[int], load: list[int]) -> None:
    taken = policy(PolicyName.LEAST_LOAD).pick(candidates, loads(load), ASKED, Random(1))
    assert load[taken] == min(load[i] for i in candidates)


@pytest.mark.parametrize("name", [PolicyName.LEAST_LOAD, PolicyName.POWER_OF_TWO])
def test_ties_spread_evenly(name: PolicyName) -> None:
    rng, picking = Random(4), policy(name)
    counts = Counter(picking.pick(range(5), loads([2] * 5), ASKED, rng) for _ in range(5000))
    assert all(850 < counts[i] < 1150 for i in range(5))


@given(load=st.lists(st.integers(0, 9), min_size=5, max_size=5, unique=True), seed=st.integers())
def test_power_of_two_never_takes_the_most_loaded(load: list[int], seed: int) -> None:
    taken = policy(PolicyName.POWER_OF_TWO).pick(range(5), loads(load), ASKED, Random(seed))
    assert load[taken] < max(load)


@given(order=st.permutations(range(5)), rounds=st.integers(1, 5))
def test_round_robin_serves_everybody_once_a_round(order: list[int], rounds: int) -> None:
    picking = policy(PolicyName.ROUND_ROBIN)
    counts = Counter(
        picking.pick(order, loads([0] * 5), ASKED, Random(0)) for _ in range(5 * rounds)
    )
    assert set(counts.values()) == {rounds}


def test_round_robin_is_fair_when_the_sets_alternate() -> None:
    """A counter modulo the number of candidates would send b all requests of the full set."""
    picking, rng = policy(PolicyName.ROUND_ROBIN), Random(0)
    full = Counter[int]()
    for _ in range(100):
        picking.pick([0], loads([0] * 5), ASKED, rng)
        full[picking.pick([0, 1, 2], loads([0] * 5), ASKED, rng)] += 1
    assert full[1] == full[2] == 50


@given(weights=st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_weighted_is_exact_over_a_period(weights: list[int]) -> None:
    picking = policy(PolicyName.WEIGHTED, dict(zip(NAMES, map(float, weights), strict=True)))
    counts = Counter(
        picking.pick(range(5), loads([0] * 5), ASKED, Random(0)) for _ in range(sum(weights))
    )
    assert [counts[i] for i in range(5)] == weights


def test_weighted_interleaves() -> None:
    picking = policy(PolicyName.WEIGHTED, {"a": 5.0, "b": 1.0, "c": 1.0})
    picks = "".join(
        NAMES[picking.pick(range(3), loads([0] * 3), ASKED, Random(0))] for _ in range(7)
    )
    assert picks == "aabacaa"


def test_weight_zero_is_the_last_resort() -> None:
    picking, rng = policy(PolicyName.WEIGHTED, {"a": 0.0, "b": 0.0}), Random(0)
    assert {picking.pick([0, 1, 2], loads([0] * 3), ASKED, rng) for _ in range(20)} == {2}
    assert Counter(picking.pick([0, 1], loads([0] * 3), ASKED, rng) for _ in range(20)) == {
        0: 10,
        1: 10,
    }


@pytest.mark.parametrize("name", [PolicyName.ROUND_ROBIN, PolicyName.WEIGHTED])
def test_the_turn_outlives_a_rebuilt_router_and_a_changed_order(name: PolicyName) -> None:
    memory, counts = PolicyMemory(), Counter[str]()
    for step in range(100):
        names = NAMES[:2] if step % 2 else NAMES[1::-1]
        picking = policy(name, memory=memory, names=names)
        counts[names[picking.pick([0, 1], loads([0, 0]), ASKED, Random(0))]] += 1
    assert counts == {"a": 50, "b": 50}
