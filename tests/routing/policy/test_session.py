"""Sessions: one engine each, few moves when engines come and go, nobody overloaded."""

from collections import Counter
from math import ceil
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import loads

from proa.domain.load import EngineLoadView, LoadView
from proa.domain.request import RouteRequest
from proa.domain.timing import EngineTiming, StepTime
from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.registry import make_policy
from proa.routing.spec import PolicyName, PolicyOptions, RoutingSpec

NAMES = ("a", "b", "c", "d")


def policy(factor: float = 1.25, names: tuple[str, ...] = NAMES) -> Policy:
    options = PolicyOptions(session_load_factor=factor)
    spec = RoutingSpec(policy=PolicyName.SESSION, policy_options=options)
    return make_policy(spec, names, PolicyMemory())


def asked(session: str) -> RouteRequest:
    return RouteRequest(path="/v1/chat/completions", session=session)


@given(
    sessions=st.lists(st.integers(0, 30), min_size=1, max_size=80),
    factor=st.floats(1.0, 3.0),
)
def test_no_engine_gets_more_than_its_bound(sessions: list[int], factor: float) -> None:
    picking, in_flight = policy(factor), [0] * 4
    for session in sessions:
        index = picking.pick(range(4), loads(in_flight), asked(f"s{session}"), Random(0))
        in_flight[index] += 1
        assert in_flight[index] <= ceil(factor * sum(in_flight) / 4)


@given(session=st.text(min_size=1), gone=st.integers(0, 3))
def test_a_session_moves_only_when_its_engine_goes(session: str, gone: int) -> None:
    """Whatever the order of the engines, and in every process."""
    idle = loads([0] * 4)
    before = NAMES[policy().pick(range(4), idle, asked(session), Random(0))]
    turned = tuple(reversed(NAMES))
    assert turned[policy(names=turned).pick(range(4), idle, asked(session), Random(9))] == before
    left = [index for index in range(4) if index != gone]
    after = NAMES[policy().pick(left, idle, asked(session), Random(0))]
    assert after == before or before == NAMES[gone]


def test_sessions_spread() -> None:
    picking = policy()
    counts = Counter(
        picking.pick(range(4), loads([0] * 4), asked(f"s{n}"), Random(0)) for n in range(4000)
    )
    assert all(800 < counts[index] < 1200 for index in range(4))


def test_a_slow_engine_is_full_earlier() -> None:
    slow, fast = (
        EngineTiming(step=StepTime(base_s=base_s, per_sequence_s=0.0), samples=9)
        for base_s in (0.09, 0.01)
    )
    views = (EngineLoadView(name="a", timing=slow), EngineLoadView(name="b", timing=fast))
    picking, in_flight = policy(names=("a", "b")), [0, 0]
    for number in range(100):
        made = loads(in_flight)
        made.apply(LoadView(1, views), ["a", "b"])
        in_flight[picking.pick([0, 1], made, asked(f"s{number}"), Random(0))] += 1
    assert in_flight[0] <= ceil(1.25 * 100 * 0.1)


def test_requests_without_a_session_go_where_they_are_finished_first() -> None:
    assert policy().pick(range(4), loads([5, 5, 0, 5]), asked(""), Random(0)) == 2
