"""Which requests count: nothing of the first wave, all that were sent in the window."""

import pytest

from proa.bench.window import Cause, LevelWatch, WindowSpec


def test_b38_the_first_wave_is_not_measured_however_short_the_warm_up() -> None:
    """B38: evalscope #1627: N equal-phase requests at the start made the P99."""
    watch = LevelWatch(WindowSpec(warmup_s=1.0), begin_s=0.0, users=3)
    watch.ended(0, sent_s=0.0, end_s=2.0)
    watch.ended(1, sent_s=0.0, end_s=2.0)
    watch.tick(0, at_s=5.0, oldest_sent_s=0.0)
    assert watch.start_s is None
    assert not watch.ended(2, sent_s=0.0, end_s=6.0)
    watch.tick(0, at_s=6.1, oldest_sent_s=2.0)
    assert watch.start_s == 6.1
    assert not watch.ended(0, sent_s=6.0, end_s=7.0)
    assert watch.ended(0, sent_s=7.0, end_s=8.0)
    assert watch.measured == 1


def test_a_window_of_time_waits_for_all_that_was_sent_in_it() -> None:
    """No long answer is lost at the end: the load goes on until they are there."""
    watch = LevelWatch(WindowSpec(warmup_s=0.0, duration_s=10.0), begin_s=0.0, shares=2)
    watch.tick(0, at_s=0.0, oldest_sent_s=None)
    for share in (0, 1):
        watch.tick(share, at_s=12.0, oldest_sent_s=9.0)
    assert watch.window is None
    watch.tick(0, at_s=13.0, oldest_sent_s=10.5)
    assert watch.window is None
    watch.tick(1, at_s=13.0, oldest_sent_s=None)
    assert watch.window is not None
    assert (watch.window.start_s, watch.window.end_s, watch.window.cause) == (0, 10, "duration")
    assert watch.window.measures(9.99)
    assert not watch.window.measures(10.0)


def test_a_number_of_requests_takes_the_first_sent_not_the_first_ended() -> None:
    watch = LevelWatch(WindowSpec(warmup_s=0.0, duration_s=None, requests=2), begin_s=0.0)
    watch.tick(0, at_s=0.0, oldest_sent_s=None)
    watch.ended(1, sent_s=1.5, end_s=2.0)
    watch.ended(1, sent_s=2.0, end_s=2.5)
    watch.tick(0, at_s=2.6, oldest_sent_s=1.0)
    assert watch.window is None
    watch.ended(0, sent_s=1.0, end_s=9.0)
    watch.tick(0, at_s=9.1, oldest_sent_s=9.0)
    assert watch.window is not None
    assert watch.window.cause is Cause.REQUESTS
    assert [watch.window.measures(s) for s in (1.0, 1.5, 2.0)] == [True, True, False]
    assert watch.window.end_s == 9.0


@pytest.mark.parametrize("cause", [Cause.ENOUGH, Cause.INTERRUPTED])
def test_a_cut_counts_only_what_is_settled(cause: Cause) -> None:
    """Of the requests after the oldest in flight only the quick ones have ended."""
    watch = LevelWatch(WindowSpec(warmup_s=0.0), begin_s=0.0)
    watch.tick(0, at_s=0.0, oldest_sent_s=None)
    watch.tick(0, at_s=5.0, oldest_sent_s=3.0)
    watch.cut(5.0, cause)
    assert watch.window is not None
    assert (watch.window.measures(2.9), watch.window.measures(3.0)) == (True, False)


def test_a_level_ends_when_its_time_is_up_even_in_the_warm_up() -> None:
    watch = LevelWatch(WindowSpec(warmup_s=60.0, max_s=5.0), begin_s=0.0, users=1)
    watch.tick(0, at_s=5.0, oldest_sent_s=0.0)
    assert watch.window is not None
    assert (watch.window.cause, watch.window.duration_s) == (Cause.TIME, 0.0)


def test_a_trace_ends_by_itself() -> None:
    watch = LevelWatch(WindowSpec(warmup_s=0.0, duration_s=None), begin_s=0.0)
    watch.tick(0, at_s=0.0, oldest_sent_s=None)
    watch.ended(0, sent_s=1.0, end_s=4.0)
    watch.load_over(4.2)
    assert watch.window is not None
    assert (watch.window.cause, watch.window.end_s) == (Cause.LOAD_OVER, 4.0)
    assert watch.window.measures(1.0)
