"""All of an engine's timing from its traffic; golden runs on virtual engines."""

from random import Random

import pytest
from benchmarks.policies.virtual import Ask, VirtualEngineSpec
from benchmarks.policies.virtual_gateway import VirtualGateway

from proa.domain.timing import EngineTiming, StepTime, TimingSource
from proa.routing.engine_learner import EngineLearner, TrafficWindow
from proa.routing.spec import PolicyName

STEP = StepTime(base_s=0.00635, per_sequence_s=0.000314)
STREAMING = TrafficWindow(seconds=0.25, events=300.0, stream_s=2.5, sequences=10.0)


def test_nothing_seen_is_no_timing() -> None:
    learner = EngineLearner()
    learner.observe(TrafficWindow(seconds=0.25), 1.0)
    assert learner.timing(1.0) is None


def test_errors_teach_nothing() -> None:
    """A rejecting engine has no streams: however quickly it fails, it is not fast."""
    learner = EngineLearner()
    for second in range(60):
        learner.observe(TrafficWindow(seconds=1.0), float(second))
    assert learner.timing(60.0) is None


def test_events_of_several_tokens_count_by_the_usage_of_finished_streams() -> None:
    learner = EngineLearner()
    told = TrafficWindow(
        seconds=0.25, events=300.0, stream_s=2.5, sequences=10.0,
        answers=5.0, answer_tokens=1000.0, told_events=250.0, told_tokens=995.0,
    )  # fmt: skip
    learner.observe(told, 1.0)
    timing = learner.timing(1.0)
    assert timing is not None
    assert timing.step.step_s(10) == pytest.approx(2.5 / 300 / (995 / 250))
    assert timing.output_tokens == pytest.approx(200.0)


def test_what_was_known_before_holds_until_traffic_tells_better() -> None:
    start = EngineTiming(
        step=STEP, prefill_tokens_per_s=9000.0, source=TimingSource.CATALOGUE, prior=STEP
    )
    learner = EngineLearner(start)
    before = learner.timing(100.0)
    assert before is not None
    assert (before.step, before.source, before.age_s) == (STEP, TimingSource.CATALOGUE, 100.0)
    learner.observe(STREAMING, 100.0)
    after = learner.timing(110.0)
    assert after is not None
    assert (after.source, after.samples, after.age_s) == (TimingSource.LEARNED, 1, 10.0)
    assert after.prefill_tokens_per_s == 9000.0
    assert after.prior == STEP


def test_prompt_tokens_per_second_from_undisturbed_first_tokens() -> None:
    learner, rng = EngineLearner(), Random(1)
    learner.observe(STREAMING, 0.0)
    step_s = 2.5 / 300
    for second in range(200):
        size = rng.randint(400, 8000)
        ttft_s = step_s * rng.uniform(1.0, 2.0) + size / 4.0 / 8000.0
        learner.observe(
            TrafficWindow(
                seconds=1.0, answers=1.0, answer_tokens=100.0,
                prompt_bytes=float(size), prompt_tokens=size / 4.0,
                first_count=1.0, first_s=ttft_s, first_bytes=float(size),
                first_bytes2=float(size * size), first_bytes_s=size * ttft_s,
            ),
            float(second),
        )  # fmt: skip
    timing = learner.timing(200.0)
    assert timing is not None
    assert timing.prefill_tokens_per_s == pytest.approx(8000.0, rel=0.1)
    assert timing.bytes_per_token == pytest.approx(4.0)


def test_short_prompts_of_one_size_tell_nothing_of_prompt_speed() -> None:
    """Their first tokens come after two steps or so, of which the prompt may be any part."""
    learner = EngineLearner()
    learner.observe(STREAMING, 0.0)
    ttft_s = 2.1 * 2.5 / 300
    count, size = 50.0, 300.0
    learner.observe(
        TrafficWindow(
            seconds=1.0, first_count=count, first_s=count * ttft_s, first_bytes=count * size,
            first_bytes2=count * size * size, first_bytes_s=count * size * ttft_s,
        ),
        1.0,
    )  # fmt: skip
    timing = learner.timing(1.0)
    assert timing is not None
    assert timing.prefill_tokens_per_s is None


def closed_loop(
    spec: VirtualEngineSpec, users: int, until_s: float
) -> tuple[VirtualGateway, list[tuple[float, int, float]]]:
    """A run, and (time, requests done, predicted over true step) every 250 ms."""
    gateway, rng = VirtualGateway([spec], PolicyName.LEAST_LOAD), Random(1)
    clock, marks = gateway.fleet.clock, list[tuple[float, int, float]]()

    def ask(_: Ask | None = None) -> None:
        if clock.now_s < until_s:
            gateway.send(Ask(20, rng.randint(30, 400)))

    def look() -> None:
        timing, running = gateway.learners[0].timing(clock.now_s), gateway.fleet.engines[0].running
        if timing is not None and running:
            factor = spec.changes[0][1] if clock.now_s >= spec.changes[0][0] else 1.0
            true_s = spec.step.step_s(running) * factor
            marks.append(
                (clock.now_s, len(gateway.fleet.done), timing.step.step_s(running) / true_s)
            )
        if clock.now_s < until_s:
            clock.at(clock.now_s + 0.25, look)

    gateway.ended = ask
    for _ in range(users):
        ask()
    look()
    clock.run()
    return gateway, marks


@pytest.mark.parametrize("users", [1, 4, 16, 60])
def test_it_learns_within_50_requests_and_anew_within_100(users: int) -> None:
    spec = VirtualEngineSpec("main", STEP, changes=((30.0, 5.0),))
    _, marks = closed_loop(spec, users, until_s=80.0)
    first = next(done for at_s, done, ratio in marks if abs(ratio - 1.0) < 0.1)
    before = max(done for at_s, done, _ in marks if at_s < 30.0)
    again = next(done for at_s, done, ratio in marks if at_s > 30.2 and abs(ratio - 1.0) < 0.1)
    assert first <= 50
    assert again - before <= 100
    late = [ratio for at_s, _, ratio in marks if 40.0 < at_s < 75.0]
    assert all(abs(ratio - 1.0) < 0.15 for ratio in late)
