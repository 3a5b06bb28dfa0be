"""Affinity to a cached beginning, as long as waiting for it costs less than reading it again."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import loads

from proa.domain.request import RouteRequest
from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.registry import make_policy
from proa.routing.prefix import prefix_hashes
from proa.routing.spec import PolicyName, RoutingSpec

LONG = b"document " * 6000


def policy() -> Policy:
    return make_policy(RoutingSpec(policy=PolicyName.PREFIX_AFFINITY), ("a", "b"), PolicyMemory())


def asked(prompt: bytes) -> RouteRequest:
    return RouteRequest(
        path="/v1/chat/completions", body_bytes=len(prompt), prefix=prefix_hashes(prompt)
    )


@given(seed=st.integers(0, 99), load=st.integers(0, 4))
def test_the_same_beginning_goes_to_the_same_engine(seed: int, load: int) -> None:
    picking, rng = policy(), Random(seed)
    first = picking.pick([0, 1], loads([0, 0]), asked(LONG), rng)
    in_flight = [0, 0]
    in_flight[first] = load
    assert picking.pick([0, 1], loads(in_flight), asked(LONG + b"more"), rng) == first


def test_a_crowd_is_worse_than_reading_again() -> None:
    picking, rng = policy(), Random(1)
    first = picking.pick([0, 1], loads([0, 0]), asked(LONG), rng)
    in_flight = [0, 0]
    in_flight[first] = 400
    assert picking.pick([0, 1], loads(in_flight), asked(LONG), rng) == 1 - first
    assert picking.pick([0, 1], loads([0, 0]), asked(b"short"), rng) in (0, 1)


def test_an_engine_that_cannot_be_used_is_not_waited_for() -> None:
    picking, rng = policy(), Random(1)
    first = picking.pick([0, 1], loads([0, 0]), asked(LONG), rng)
    assert picking.pick([1 - first], loads([0, 0]), asked(LONG), rng) == 1 - first
