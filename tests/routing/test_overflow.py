"""Overflow: what counts as pressure, and how seldom the state changes whatever the load does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.routing.fleets import loads

from proa.domain.load import EngineLoad, EngineLoadView, LoadView
from proa.domain.request import RouteRequest
from proa.domain.timing import EngineTiming, StepTime
from proa.routing.loads import Loads
from proa.routing.overflow import (
    HOLD_S,
    OverflowState,
    predicted_wait_s,
    pressure,
    waiting_requests,
)
from proa.routing.spec import OverflowSpec

ASKED = RouteRequest(path="/v1/chat/completions", body_bytes=4000)
STEP = StepTime(base_s=0.01, per_sequence_s=0.001)


def known(in_flight: int, **view: object) -> Loads:
    """One engine of which `view` is known."""
    made = loads([in_flight])
    made.apply(LoadView(1, (EngineLoadView(name="a", **view),)), ["a"])  # type: ignore[arg-type]
    return made


@given(
    steps=st.lists(
        st.tuples(st.floats(0, 20), st.one_of(st.floats(0.6, 1.2), st.floats(0, 3))), max_size=200
    )
)
def test_two_switches_at_most_fall_into_any_minute(steps: list[tuple[float, float]]) -> None:
    state, now_s, switched = OverflowState(), 0.0, [float("-inf")] * 2
    for wait_s, load in steps:
        now_s += wait_s
        before = state.is_open
        if state.decide(load, now_s) != before:
            assert now_s - switched[-2] >= HOLD_S
            switched.append(now_s)
        assert state.is_open or load < 1.0, "opens at once"


def test_it_closes_after_a_minute_below_three_quarters() -> None:
    state = OverflowState()
    assert not state.decide(0.99, 0.0)
    assert state.decide(1.0, 1.0)
    assert state.decide(0.8, 50.0)  # still pressed: the minute begins anew
    assert state.decide(0.7, 109.9)
    assert not state.decide(0.7, 110.0)
    assert not state.decide(0.9, 111.0)


def test_the_least_pressed_engine_counts_by_its_largest_measure() -> None:
    when = OverflowSpec(in_flight=4, waiting=2)
    made = loads([8, 2])
    made.apply(
        LoadView(
            1,
            tuple(
                EngineLoadView(name=n, load=EngineLoad(at_s=0.0, waiting=w))
                for n, w in (("a", 0), ("b", 3))
            ),
        ),
        ["a", "b"],
    )
    assert pressure(when, [0, 1], made, ASKED) == 1.5
    assert pressure(when, [0], made, ASKED) == 2.0
    assert pressure(OverflowSpec(in_flight=4), [0, 1], made, ASKED) == 0.5


@pytest.mark.parametrize(
    ("in_flight", "view", "waiting"),
    [
        (9, {}, None),
        (9, {"load": EngineLoad(at_s=0.0)}, None),
        (9, {"load": EngineLoad(at_s=0.0, waiting=0)}, 0),
        (9, {"load": EngineLoad(at_s=0.0, waiting=5)}, 5),
        (9, {"max_concurrent": 4}, 5),
        (3, {"max_concurrent": 4}, 0),
        (3, {"max_concurrent": 4, "foreign": 2}, 1),
        (9, {"max_concurrent": 4, "load": EngineLoad(at_s=0.0, waiting=0)}, 5),
        (9, {"load": EngineLoad(at_s=0.0, max_running=8)}, 1),
    ],
)
def test_unknown_waiting_is_what_was_sent_beyond_the_limit(
    in_flight: int, view: dict[str, object], waiting: int | None
) -> None:
    assert waiting_requests(known(in_flight, **view), 0) == waiting


def test_the_predicted_wait_is_queue_and_prompts() -> None:
    timing = EngineTiming(
        step=STEP, prefill_tokens_per_s=1000.0, output_tokens=100.0, bytes_per_token=4.0, samples=9
    )
    load = EngineLoad(at_s=0.0, running=10, waiting=5)
    wait_s = predicted_wait_s(known(15, timing=timing, load=load), 0, ASKED)
    assert wait_s == pytest.approx(5 / 10 * 100 * 0.02 + 1.0)
    capped = known(12, timing=timing, max_concurrent=10)
    assert predicted_wait_s(capped, 0, ASKED) == pytest.approx(2 / 10 * 100 * 0.02 + 1.0)
    assert predicted_wait_s(known(50), 0, ASKED) is None


@given(
    in_flight=st.lists(st.integers(0, 50), min_size=1, max_size=4),
    waiting=st.integers(0, 50) | st.none(),
    cap=st.integers(1, 50) | st.none(),
)
def test_pressure_grows_with_the_load(
    in_flight: list[int], waiting: int | None, cap: int | None
) -> None:
    when = OverflowSpec(in_flight=5, waiting=3)
    names = [str(i) for i in range(len(in_flight))]
    found = []
    for more in (0, 1):
        made = loads([n + more for n in in_flight])
        load = EngineLoad(at_s=0.0, waiting=waiting)
        views = tuple(EngineLoadView(name=n, load=load, max_concurrent=cap) for n in names)
        made.apply(LoadView(1, views), names)
        found.append(pressure(when, range(len(names)), made, ASKED))
    assert 0.0 <= found[0] <= found[1]
