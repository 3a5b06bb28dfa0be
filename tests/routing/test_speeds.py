"""What policies read of timings, and what stands in for what is not known."""

from math import inf, sqrt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proa.domain.load import EngineLoadView
from proa.domain.timing import EngineTiming, StepTime
from proa.routing.speeds import (
    ASSUMED,
    DEFAULT_OUTPUT_TOKENS,
    HALF_LIFE_S,
    NOBODY_KNOWS,
    mean_output,
    speeds_of,
)

FAST = StepTime(base_s=0.006, per_sequence_s=0.0003)
SLOW = StepTime(base_s=0.024, per_sequence_s=0.0012)


def view(timing: EngineTiming | None = None, **more: object) -> EngineLoadView:
    return EngineLoadView(name="e", timing=timing, **more)  # type: ignore[arg-type]


def test_with_nothing_known_all_are_alike() -> None:
    assert speeds_of([view(), view()]) == [NOBODY_KNOWS, NOBODY_KNOWS]


def test_the_unknown_is_typical_of_the_known() -> None:
    fast, slow, unknown = speeds_of(
        [view(EngineTiming(step=FAST)), view(EngineTiming(step=SLOW)), view()]
    )
    assert unknown.base_s == pytest.approx(sqrt(FAST.base_s * SLOW.base_s))
    assert fast.base_s < unknown.base_s < slow.base_s


def test_what_was_learned_decays_to_what_was_said_before() -> None:
    timing = EngineTiming(step=SLOW, prior=FAST, age_s=HALF_LIFE_S)
    (speed,) = speeds_of([view(timing)])
    assert speed.base_s == pytest.approx(sqrt(FAST.base_s * SLOW.base_s))


def test_without_a_word_before_it_decays_to_the_others() -> None:
    aged = EngineTiming(step=SLOW, age_s=100 * HALF_LIFE_S)
    fast, slow = speeds_of([view(EngineTiming(step=FAST)), view(aged)])
    assert slow.base_s == pytest.approx(sqrt(FAST.base_s * SLOW.base_s))
    assert fast.base_s == FAST.base_s


def test_kv_tokens_that_a_sequence_holds_are_in_its_time() -> None:
    step = StepTime(base_s=0.006, per_sequence_s=0.0003, per_kv_token_s=5e-8)
    (speed,) = speeds_of([view(EngineTiming(step=step, kv_tokens_per_sequence=2000.0))])
    assert speed.per_sequence_s == pytest.approx(0.0004)


def test_capacity_is_the_cap_or_none() -> None:
    capped, free = speeds_of([view(max_concurrent=4), view()])
    assert (capped.capacity, free.capacity) == (4.0, inf)


def test_prompts_by_bytes() -> None:
    told = EngineTiming(step=FAST, prefill_tokens_per_s=1000.0, bytes_per_token=5.0)
    known, unknown = speeds_of([view(told), view(EngineTiming(step=FAST))])
    assert known.prompt_s_per_byte == pytest.approx(1 / 5000)
    assert unknown.prompt_s_per_byte == pytest.approx(1 / 5000)


def test_unknown_prompts_take_as_long_for_the_base_as_those_of_others() -> None:
    told = EngineTiming(step=FAST, prefill_tokens_per_s=1000.0, bytes_per_token=5.0)
    slow = StepTime(base_s=FAST.base_s * 3, per_sequence_s=FAST.per_sequence_s)
    _, unknown = speeds_of([view(told), view(EngineTiming(step=slow))])
    assert unknown.prompt_s_per_byte == pytest.approx(3 / 5000)


def test_more_requests_are_never_for_nothing() -> None:
    flat = EngineTiming(step=StepTime(base_s=0.01, per_sequence_s=0.0))
    assert speeds_of([view(flat)])[0].per_sequence_s > 0.0


def test_mean_output_weighs_by_samples() -> None:
    assert mean_output([view()]) == DEFAULT_OUTPUT_TOKENS
    one = EngineTiming(step=FAST, output_tokens=100.0, samples=30)
    other = EngineTiming(step=FAST, output_tokens=200.0, samples=10)
    assert mean_output([view(one), view(other)]) == pytest.approx(125.0)


timings = st.builds(
    EngineTiming,
    step=st.builds(
        StepTime,
        base_s=st.floats(0.0, 10.0),
        per_sequence_s=st.floats(0.0, 1.0),
        per_kv_token_s=st.floats(0.0, 1e-4),
    ),
    prefill_tokens_per_s=st.none() | st.floats(1.0, 1e6),
    bytes_per_token=st.none() | st.floats(0.5, 20.0),
    age_s=st.floats(0.0, 1e6),
)


@given(st.lists(st.none() | timings, min_size=1, max_size=6))
@example(
    [None, EngineTiming(step=StepTime(base_s=2e-313, per_sequence_s=0), prefill_tokens_per_s=1)]
)
def test_numbers_stay_numbers(known: list[EngineTiming | None]) -> None:
    for speed in speeds_of([view(timing) for timing in known]):
        assert 0.0 <= speed.base_s < inf
        assert 0.0 <= speed.per_sequence_s < inf
        assert 0.0 <= speed.prompt_s_per_byte < inf


def test_assumed_is_between_extremes() -> None:
    assert ASSUMED.base_s > ASSUMED.per_sequence_s


def test_equals_are_equal_however_they_were_learned() -> None:
    one = EngineTiming(step=StepTime(base_s=0.0061, per_sequence_s=0.00034))
    other = EngineTiming(step=StepTime(base_s=0.0062, per_sequence_s=0.00033))
    first, second = speeds_of([view(one), view(other)])
    assert second.base_s / first.base_s == pytest.approx(1.0, abs=0.004)
    assert second.per_sequence_s / first.per_sequence_s == pytest.approx(1.0, abs=0.004)


def test_unequal_prompt_speeds_stay_so() -> None:
    quick = EngineTiming(step=FAST, prefill_tokens_per_s=20_000.0)
    slow = EngineTiming(step=FAST, prefill_tokens_per_s=5_000.0)
    first, second = speeds_of([view(quick), view(slow)])
    assert second.prompt_s_per_byte == pytest.approx(4.0 * first.prompt_s_per_byte)
