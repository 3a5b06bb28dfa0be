"""How late stamps may be, by whose they are and by what shares its read."""

import msgspec
import pytest

from proa.bench.arrival_clock import Clock
from proa.bench.process_messages import Tick
from proa.bench.sample import ContentEvent, RequestSample
from proa.bench.stamp_trust import clock_of, shared_reads, stamp_trust

TICK = Tick(
    share=0, at_s=1.0, on_wire=8, oldest_sent_s=None, cpu_s=0.0, runqueue_s=0.0, late_connects=0,
    pulse_delays_s=[0.003], loop_lags_s=[0.004], reads=1000, kernel_reads=1000,
    read_delays_s=[0.005],
)  # fmt: skip


def answer(*reads: int) -> RequestSample:
    events = tuple(ContentEvent(1.0 + read, 1, read) for read in reads)
    return RequestSample(number=0, target="t", level=0, user=0, sent_s=0.0, events=events)


def changed(**fields: object) -> Tick:
    return msgspec.structs.replace(TICK, **fields)


@pytest.mark.parametrize(
    ("ticks", "clock"),
    [
        ([TICK], Clock.KERNEL),
        ([changed(kernel_reads=991)], Clock.KERNEL),
        ([changed(kernel_reads=980)], Clock.LOOP),
        ([TICK, changed(share=1, kernel_reads=0)], Clock.LOOP),
        ([changed(kernel_reads=0, reads=10), TICK], Clock.KERNEL),
        ([changed(reads=0, kernel_reads=0)], Clock.LOOP),
        ([], Clock.LOOP),
    ],
)
def test_the_kernels_clock_is_that_of_practically_all_reads(
    ticks: list[Tick], clock: Clock
) -> None:
    assert clock_of(ticks) is clock


def test_events_that_share_a_read_with_a_later_one() -> None:
    assert shared_reads([]) is None
    assert shared_reads([answer()]) is None
    assert shared_reads([answer(0, 1, 2, 3)]) == 0.0
    assert shared_reads([answer(0, 1, 2, 2)]) == pytest.approx(1 / 4)


def test_first_events_count_by_themselves() -> None:
    """TTFT is of first events only: one in a hundred events, but one in two answers."""
    assert shared_reads([answer(0, 0, *range(1, 99)), answer(*range(100))]) == 0.5


def test_a_late_loop_does_not_spoil_the_kernels_stamps() -> None:
    told = stamp_trust([TICK], [answer(*range(200))])
    assert (told.clock, told.delay_p99_s, told.loop_lag_p99_s) == (Clock.KERNEL, 0.0, 0.005)


def test_but_it_may_those_of_shared_reads() -> None:
    """By as much as it was away: the greater of what reads and messages say."""
    shared = [answer(0, 0, 0, 1)]
    assert stamp_trust([TICK], shared).delay_p99_s == 0.005
    assert stamp_trust([changed(pulse_delays_s=[0.007])], shared).delay_p99_s == 0.007


def test_the_loops_own_stamps_are_as_late_as_it_is() -> None:
    told = stamp_trust([changed(kernel_reads=0)], [answer(*range(200))])
    assert (told.clock, told.delay_p99_s, told.loop_lag_p99_s) == (Clock.LOOP, 0.003, 0.004)
