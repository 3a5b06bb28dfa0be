"""When a request leaves the engine that would finish it first, for its first token's sake."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from proa.domain.lengths import LIMIT_CLASSES
from proa.domain.load import EngineLoadView, LoadView
from proa.domain.request import RouteRequest
from proa.domain.timing import EngineTiming, StepTime
from proa.routing.loads import Loads
from proa.routing.policy.base import PolicyMemory
from proa.routing.policy.finish import decode_s
from proa.routing.policy.first_token import sooner
from proa.routing.policy.registry import make_policy
from proa.routing.spec import RoutingSpec

EXACT = (0.0,) + (1.0,) * (LIMIT_CLASSES - 1)
MAIN = EngineTiming(
    step=StepTime(base_s=0.00635, per_sequence_s=0.000314),
    prefill_tokens_per_s=20_000.0,
    bytes_per_token=4.0,
    output_tokens=200.0,
    samples=100,
)
AUX = replace(
    MAIN, step=StepTime(base_s=0.019, per_sequence_s=0.00094), prefill_tokens_per_s=6_700.0
)
NAMES = ("main", "aux")


def loads(
    waiting: tuple[int, int],
    in_flight: tuple[int, int] = (20, 2),
    main: EngineTiming | None = MAIN,
    aux: EngineTiming | None = AUX,
) -> Loads:
    made = Loads(2)
    engines = (EngineLoadView(name="main", timing=main), EngineLoadView(name="aux", timing=aux))
    made.apply(LoadView(1, engines, limit_use=EXACT), NAMES)
    made.in_flight, made.waiting_bytes = in_flight, waiting
    made.limits_in_flight = [200 * running for running in in_flight]
    return made


def asked(tokens: int, size: int = 1000) -> RouteRequest:
    return RouteRequest(path="/x", max_tokens=tokens, body_bytes=size)


def test_a_short_answer_leaves_a_long_queue_and_a_long_one_stays() -> None:
    queue = loads((20_000, 0))
    assert sooner((0, 1), queue, asked(60), 0) == 1
    assert sooner((0, 1), queue, asked(390), 0) == 0
    assert sooner((0, 1), queue, RouteRequest(path="/x", body_bytes=1000), 0) == 0


def test_a_queue_as_long_elsewhere_is_not_worth_it() -> None:
    assert sooner((0, 1), loads((20_000, 6_500)), asked(60), 0) == 0


def test_equals_are_left_as_the_finish_says() -> None:
    assert sooner((0, 1), loads((20_000, 0), main=MAIN, aux=MAIN), asked(60), 0) == 0


def test_while_nothing_is_known_an_engine_that_answers_is_better() -> None:
    chooser = make_policy(RoutingSpec(), NAMES, PolicyMemory())
    blind = loads((0, 400), (5, 3), None, None)
    assert chooser.pick((0, 1), blind, asked(60), Random(1)) == 0


@given(
    waiting=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    in_flight=st.tuples(st.integers(1, 200), st.integers(0, 200)),
    tokens=st.integers(1, 1000),
    size=st.integers(0, 50_000),
)
def test_whoever_leaves_waits_less_and_ends_before_a_long_answer_would(
    waiting: tuple[int, int], in_flight: tuple[int, int], tokens: int, size: int
) -> None:
    seen = loads(waiting, in_flight)
    if sooner((0, 1), seen, asked(tokens, size), 0) == 1:
        ahead_s = [waiting[0] / 80_000.0, waiting[1] / 26_800.0]
        assert ahead_s[1] < ahead_s[0]
        prompts_s = [(waiting[0] + size) / 80_000.0, (waiting[1] + size) / 26_800.0]
        longest = decode_s(seen, 0, max(tokens, 1.25 * seen.output_tokens))
        assert prompts_s[1] + decode_s(seen, 1, tokens) <= (prompts_s[0] + longest) * (1 + 1e-9)
