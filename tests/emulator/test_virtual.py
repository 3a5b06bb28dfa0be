"""The virtual clock: arrivals, idle time, closed loops."""

from tests.emulator.profiles import asked, small

from proa.emulator.sequence import Sequence
from proa.emulator.virtual import VirtualEngine, replay


def test_the_clock_jumps_over_idle_time() -> None:
    first, second = replay(small(), [(0.0, asked(1, 1)), (3600.0, asked(1, 1))])
    assert first.finished_s == 1.1e-3
    assert second.admitted_s == 3600.0


def test_one_that_comes_during_a_step_starts_with_the_next() -> None:
    first, second = replay(small(), [(0.0, asked(1, 2)), (0.0005, asked(1, 2))])
    assert second.arrived_s == 0.0005
    assert second.admitted_s == first.first_token_s


def test_a_closed_loop_keeps_its_users_busy() -> None:
    engine = VirtualEngine(small())
    left = [5]

    def ask_again(_: Sequence) -> None:
        if left[0]:
            left[0] -= 1
            engine.arrive(asked(1, 3), engine.now_s)

    engine.arrive(asked(1, 3), 0.0)
    ended = engine.run(ask_again)
    assert len(ended) == 6
    assert ended[-1].finished_s is not None
    assert abs(ended[-1].finished_s - 6 * 3 * 1.1e-3) < 1e-9
