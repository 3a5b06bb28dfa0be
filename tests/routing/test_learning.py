"""What the learner of step times promises: quick, unbiased, unimpressed by outliers."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.timing import StepTime
from proa.routing.learning import StepFit, StepLearner, WindowSample

MAIN = StepTime(base_s=0.00635, per_sequence_s=0.000314)


def window(step: StepTime, sequences: float, seconds: float = 0.25) -> WindowSample:
    """What `sequences` streams get in a window, without any noise."""
    stream_s = sequences * seconds
    tokens = stream_s / step.step_s(sequences)
    return WindowSample(seconds=seconds, tokens=tokens, stream_s=stream_s, sequences=sequences)


def learned(learner: StepLearner, sequences: float) -> float:
    assert learner.step is not None
    return learner.step.step_s(sequences)


def test_nothing_seen_is_nothing_known() -> None:
    assert StepLearner().step is None


def test_what_was_said_before_holds_until_something_is_seen() -> None:
    assert StepLearner(MAIN).step == MAIN


def test_the_first_window_sets_the_scale() -> None:
    learner = StepLearner()
    learner.observe(window(MAIN, 20))
    assert learned(learner, 20) == pytest.approx(MAIN.step_s(20))


def test_base_and_slope_are_told_apart_when_the_sequences_vary() -> None:
    learner, rng = StepLearner(), Random(1)
    for _ in range(150):
        learner.observe(window(MAIN, rng.randint(1, 80)))
    assert learner.step is not None
    assert learner.step.base_s == pytest.approx(MAIN.base_s, rel=0.05)
    assert learner.step.per_sequence_s == pytest.approx(MAIN.per_sequence_s, rel=0.05)


def test_at_a_steady_number_only_the_scale_is_learned() -> None:
    learner, rng = StepLearner(), Random(1)
    for _ in range(100):
        learner.observe(window(MAIN, rng.randint(40, 60)))
    assert learner.step is not None
    assert learner.step.base_s / learner.step.per_sequence_s == pytest.approx(20.0)
    assert learned(learner, 50) == pytest.approx(MAIN.step_s(50), rel=0.03)


def test_the_time_of_kv_tokens_is_learned_where_they_are_known() -> None:
    real = StepTime(base_s=0.006, per_sequence_s=0.0003, per_kv_token_s=5e-8)
    learner, rng = StepLearner(), Random(1)
    for _ in range(400):
        n, kv_tokens = rng.randint(1, 80), float(rng.randint(0, 200_000))
        stream_s = n * 0.25
        tokens = stream_s / real.step_s(n, kv_tokens)
        learner.observe(
            WindowSample(
                seconds=0.25, tokens=tokens, stream_s=stream_s, sequences=n, kv_tokens=kv_tokens
            )
        )
    assert learner.step is not None
    assert learner.step.step_s(40, 100_000) == pytest.approx(real.step_s(40, 100_000), rel=0.05)
    assert learner.step.per_kv_token_s == pytest.approx(5e-8, rel=0.2)


def test_one_stalled_window_changes_nothing() -> None:
    learner = StepLearner()
    for _ in range(20):
        learner.observe(window(MAIN, 20))
    before = learner.step
    stalled = window(MAIN, 20)
    learner.observe(WindowSample(seconds=2.5, tokens=stalled.tokens, stream_s=50.0, sequences=20.0))
    assert learner.step == before


@pytest.mark.parametrize("factor", [0.2, 0.5, 2.0, 5.0])
def test_a_change_of_speed_is_believed_at_the_third_window(factor: float) -> None:
    slow = StepTime(base_s=MAIN.base_s * factor, per_sequence_s=MAIN.per_sequence_s * factor)
    learner = StepLearner()
    for n in (10, 20, 30, 40) * 5:
        learner.observe(window(MAIN, n))
    for _ in range(3):
        learner.observe(window(slow, 20, seconds=1.0))
    assert learned(learner, 20) == pytest.approx(slow.step_s(20), rel=0.05)


def test_windows_with_few_steps_are_put_together() -> None:
    slow = StepTime(base_s=0.1, per_sequence_s=0.0)
    learner = StepLearner()
    for _ in range(2):
        learner.observe(window(slow, 3))
    assert learner.step is None
    learner.observe(window(slow, 3))
    assert learned(learner, 3) == pytest.approx(0.1)


def test_time_without_a_token_counts_with_the_next_tokens() -> None:
    learner = StepLearner()
    learner.observe(WindowSample(seconds=1.0, tokens=0.0, stream_s=1.0, sequences=1.0))
    assert learner.step is None
    learner.observe(WindowSample(seconds=1.0, tokens=20.0, stream_s=1.0, sequences=1.0))
    assert learned(learner, 1) == pytest.approx(0.1)


@given(
    base_ms=st.floats(0.1, 200),
    slope_ms=st.floats(0.001, 50),
    seed=st.integers(0, 1000),
    noise=st.floats(0.0, 0.15),
)
def test_it_is_never_negative_and_predicts_where_it_learned(
    base_ms: float, slope_ms: float, seed: int, noise: float
) -> None:
    real = StepTime(base_s=base_ms / 1e3, per_sequence_s=slope_ms / 1e3)
    learner, rng = StepLearner(), Random(seed)
    for _ in range(300):
        n = rng.randint(1, 64)
        exact = window(real, n, seconds=60.0)
        tokens = exact.tokens * rng.uniform(1.0 - noise, 1.0 + noise)
        learner.observe(
            WindowSample(seconds=60.0, tokens=tokens, stream_s=exact.stream_s, sequences=n)
        )
    step = learner.step
    assert step is not None
    assert min(step.base_s, step.per_sequence_s, step.per_kv_token_s) >= 0.0
    assert step.step_s(32) == pytest.approx(real.step_s(32), rel=0.1)


def test_a_quiet_direction_does_not_blow_up() -> None:
    fit = StepFit(MAIN)
    for n in (1, 40, 80):
        fit.learn([1.0, n, 0.0], MAIN.step_s(n))
    for _ in range(5000):
        fit.learn([1.0, 30.0, 0.0], MAIN.step_s(30) * 1.02)
    assert fit.step.step_s(80) == pytest.approx(MAIN.step_s(80), rel=0.15)
