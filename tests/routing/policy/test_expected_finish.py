"""Which engine is expected to be finished first."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from proa.domain.lengths import LIMIT_CLASSES, UNLIMITED
from proa.domain.load import EngineLoadView, LoadView
from proa.domain.request import RouteRequest
from proa.domain.timing import EngineTiming, StepTime
from proa.routing.loads import Loads
from proa.routing.policy.base import PolicyMemory
from proa.routing.policy.expected_finish import ExpectedFinish
from proa.routing.policy.finish import expected_finish_s
from proa.routing.policy.first_token import sooner
from proa.routing.policy.registry import make_policy
from proa.routing.spec import PolicyName, RoutingSpec

ASKED = RouteRequest(path="/v1/chat/completions")
MAIN = EngineTiming(step=StepTime(base_s=0.00635, per_sequence_s=0.000314))
AUX = EngineTiming(step=StepTime(base_s=0.0125, per_sequence_s=0.00069))
NAMES = ("main", "aux")
EXACT = (0.0,) + (1.0,) * (LIMIT_CLASSES - 1)


def policy() -> ExpectedFinish:
    made = make_policy(RoutingSpec(policy=PolicyName.EXPECTED_FINISH), NAMES, PolicyMemory())
    assert isinstance(made, ExpectedFinish)
    return made


def loads(
    in_flight: tuple[int, int],
    main: EngineTiming | None = MAIN,
    aux: EngineTiming | None = AUX,
    *,
    capacity: int | None = None,
    foreign: int = 0,
) -> Loads:
    made = Loads(2)
    engines = (
        EngineLoadView(name="main", timing=main, max_concurrent=capacity, foreign=foreign),
        EngineLoadView(name="aux", timing=aux),
    )
    made.apply(LoadView(1, engines), NAMES)
    made.in_flight = in_flight
    made.limits_in_flight = [UNLIMITED * running for running in in_flight]
    return made


def picked(seen: Loads, request: RouteRequest = ASKED, times: int = 200) -> Counter[int]:
    rng, chooser = Random(1), policy()
    return Counter(chooser.pick((0, 1), seen, request, rng) for _ in range(times))


def test_it_is_the_default() -> None:
    assert RoutingSpec().policy is PolicyName.EXPECTED_FINISH


def test_with_nothing_known_the_fewest_requests_win() -> None:
    assert picked(loads((3, 1), None, None)) == {1: 200}


def test_equals_share_at_random() -> None:
    assert min(picked(loads((2, 2), None, None)).values()) > 60


def test_the_faster_engine_gets_the_first_requests() -> None:
    assert picked(loads((0, 0))) == {0: 200}


def test_steps_are_made_equally_long() -> None:
    """At 108 users the reference pair is at 31.5 and 31.8 ms with 80 and 28 sequences."""
    running, chooser, rng = [0, 0], policy(), Random(1)
    for _ in range(108):
        running[chooser.pick((0, 1), loads((running[0], running[1])), ASKED, rng)] += 1
    assert abs(running[0] - 80) <= 2


def test_equal_engines_get_equally_many() -> None:
    running, chooser, rng = [0, 0], policy(), Random(1)
    for _ in range(200):
        running[chooser.pick((0, 1), loads((running[0], running[1]), MAIN, MAIN), ASKED, rng)] += 1
        assert abs(running[0] - running[1]) <= 1


def test_long_answers_prefer_the_lower_base_and_short_ones_fill_the_other() -> None:
    """One more on the slow engine has the shorter steps; those that run are short."""
    seen = loads((86, 28))
    seen.limits_in_flight = [86 * 100, 28 * 100]
    seen.apply(LoadView(2, tuple(seen.views), limit_use=EXACT), NAMES)
    assert picked(seen, RouteRequest(path="/x", max_tokens=100)) == {1: 200}
    assert picked(seen, RouteRequest(path="/x", max_tokens=1000)) == {0: 200}


def test_an_unknown_engine_counts_as_typical() -> None:
    assert picked(loads((30, 0), MAIN, None)) == {1: 200}
    assert picked(loads((0, 30), MAIN, None)) == {0: 200}


def test_others_requests_count() -> None:
    assert picked(loads((0, 0), foreign=80)) == {1: 200}


def test_what_is_above_the_capacity_waits_for_a_place() -> None:
    assert picked(loads((30, 10), capacity=16)) == {1: 200}
    assert picked(loads((14, 10), capacity=16)) == {0: 200}


def test_prompts_ahead_count() -> None:
    told = EngineTiming(step=MAIN.step, prefill_tokens_per_s=1000.0, bytes_per_token=4.0)
    seen = loads((1, 1), told, told)
    seen.waiting_bytes = [400_000, 0]
    assert picked(seen) == {1: 200}


def test_a_short_answer_minds_the_prompts_more() -> None:
    quick = EngineTiming(step=AUX.step, prefill_tokens_per_s=50_000.0, bytes_per_token=4.0)
    slow = EngineTiming(step=MAIN.step, prefill_tokens_per_s=1000.0, bytes_per_token=4.0)
    seen = loads((1, 1), slow, quick)
    long_prompt = 8000
    short = RouteRequest(path="/x", body_bytes=long_prompt, max_tokens=8)
    assert picked(seen, short) == {1: 200}


def test_an_engine_not_seen_lately_is_tried_now_and_then() -> None:
    aged = replace(AUX, age_s=40.0)
    tried = picked(loads((2, 0), MAIN, aged), RouteRequest(path="/x", max_tokens=32), 5000)[1]
    assert 0 < tried <= 0.03 * 5000


def test_an_engine_that_would_take_more_than_twice_as_long_is_not_tried() -> None:
    slow = EngineTiming(step=StepTime(base_s=0.1, per_sequence_s=0.01))
    aged = replace(slow, age_s=31.0, prior=slow.step)
    assert picked(loads((2, 0), MAIN, aged), times=2000) == {0: 2000}


@given(
    in_flight=st.tuples(st.integers(0, 200), st.integers(0, 200)),
    waiting=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    limits=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    known=st.tuples(st.booleans(), st.booleans()),
    capacity=st.none() | st.integers(1, 60),
    foreign=st.integers(0, 50),
    asked=st.tuples(st.none() | st.integers(1, 10_000), st.integers(0, 100_000)),
    seed=st.integers(0, 100),
)
def test_the_choice_is_near_the_best_by_its_own_formula_or_waits_less(
    in_flight: tuple[int, int],
    waiting: tuple[int, int],
    limits: tuple[int, int],
    known: tuple[bool, bool],
    capacity: int | None,
    foreign: int,
    asked: tuple[int | None, int],
    seed: int,
) -> None:
    main = replace(MAIN, prefill_tokens_per_s=9000.0) if known[0] else None
    aux = AUX if known[1] else None
    seen = loads(in_flight, main, aux, capacity=capacity, foreign=foreign)
    seen.waiting_bytes = waiting
    seen.limits_in_flight = limits
    request = RouteRequest(path="/x", max_tokens=asked[0], body_bytes=asked[1])
    index = policy().pick((0, 1), seen, request, Random(seed))
    finishes = [expected_finish_s(seen, i, request) for i in (0, 1)]
    one_more_s = max(speed.per_sequence_s for speed in seen.speeds)
    one_more_s *= seen.expected_tokens(asked[0])
    is_near = finishes[index] <= (min(finishes) + one_more_s) * (1.0 + 1e-9)
    assert is_near or index == sooner((0, 1), seen, request, 1 - index)


@pytest.mark.parametrize("candidates", [(0,), (1,)])
def test_one_candidate_is_taken(candidates: tuple[int, ...]) -> None:
    assert policy().pick(candidates, loads((9, 9)), ASKED, Random(1)) == candidates[0]
