"""Real time: an absolute schedule, on a clock that the test moves."""

from itertools import pairwise

import pytest
from tests.emulator.manual_loop import ManualLoop
from tests.emulator.profiles import asked, small

from proa.emulator.engine import RealTimeEngine
from proa.emulator.sequence import Sequence

STEP_S = 0.01


@pytest.fixture
def loop() -> ManualLoop:
    return ManualLoop()


@pytest.fixture
def engine(loop: ManualLoop) -> RealTimeEngine:
    return RealTimeEngine(small(step_base_ms=10.0, step_per_sequence_ms=0.0), loop)


def test_late_timers_do_not_add_up(loop: ManualLoop, engine: RealTimeEngine) -> None:
    loop.late_s = 0.004
    at: list[float] = []
    sequence = engine.submit(asked(1, 50), lambda _: at.append(loop.time()))
    loop.advance_to(102.0)
    assert sequence.is_done
    assert at[-1] - at[0] == pytest.approx(49 * STEP_S)
    assert engine.lag_max_s == pytest.approx(0.004)
    assert engine.skipped_s == 0.0


def test_an_idle_engine_begins_when_something_comes(
    loop: ManualLoop, engine: RealTimeEngine
) -> None:
    ended: list[float] = []

    def on_token(_: Sequence) -> None:
        ended.append(loop.time())

    engine.submit(asked(1, 1), on_token)
    loop.advance_to(105.0)
    engine.submit(asked(1, 1), on_token)
    loop.advance_to(106.0)
    assert ended == pytest.approx([100.0 + STEP_S, 105.0 + STEP_S])


def test_what_comes_during_a_step_starts_with_the_next(
    loop: ManualLoop, engine: RealTimeEngine
) -> None:
    first = engine.submit(asked(1, 3), lambda _: None)
    loop.advance_to(100.005)
    second = engine.submit(asked(1, 1), lambda _: None)
    loop.advance_to(101.0)
    assert second.admitted_s == first.first_token_s
    assert second.finished_s == pytest.approx(100.0 + 2 * STEP_S)


def test_a_process_that_was_stopped_goes_on_from_now(
    loop: ManualLoop, engine: RealTimeEngine
) -> None:
    at: list[float] = []
    engine.submit(asked(1, 5), lambda _: at.append(loop.time()))
    loop.advance_to(100.005)
    loop.late_s = 3.0
    loop.advance_to(100.011)
    loop.late_s = 0.0
    loop.advance_to(104.0)
    gaps = [after - before for before, after in pairwise(at)]
    assert gaps == pytest.approx([STEP_S] * 4)
    assert engine.skipped_s == pytest.approx(3.0)


def test_cancelling_all_leaves_an_idle_engine(loop: ManualLoop, engine: RealTimeEngine) -> None:
    one = engine.submit(asked(1, 5), lambda _: None)
    loop.advance_to(100.005)
    engine.cancel(one)
    loop.advance_to(101.0)
    two = engine.submit(asked(1, 1), lambda _: None)
    loop.advance_to(102.0)
    assert two.is_done
    assert one.generated == 0


def test_speed_holds_for_later_steps(loop: ManualLoop, engine: RealTimeEngine) -> None:
    sequence = engine.submit(asked(1, 2), lambda _: None)
    loop.advance_to(100.005)
    engine.speed = 0.5
    loop.advance_to(101.0)
    assert engine.speed == 0.5
    assert sequence.finished_s == pytest.approx(100.0 + STEP_S + 2 * STEP_S)
