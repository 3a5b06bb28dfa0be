"""Loads over time: ages, what others gave an engine, and views made of it."""

import pytest

from proa.control.load_board import max_concurrent
from proa.control.load_track import LoadTrack, age_limit_s
from proa.domain.load import EngineLoad, EngineLoadView, LoadView


def track(*answers: tuple[float, int | None, int | None, int]) -> LoadTrack:
    """`(at_s, running, waiting, own in flight)` each."""
    made = LoadTrack()
    for at_s, running, waiting, own in answers:
        made.observe(EngineLoad(at_s=at_s, running=running, waiting=waiting), own)
    return made


def test_nothing_said_is_unknown() -> None:
    assert LoadTrack().load_at(0.0, 10.0) is None
    assert LoadTrack().foreign_at(0.0, 10.0) is None


def test_a_value_older_than_three_polls_is_unknown() -> None:
    """G72: an engine whose last answer said idle and that then fell silent."""
    limit_s = age_limit_s(0.5)
    loads = track((10.0, 0, 0, 0))
    assert loads.load_at(11.5, limit_s) is not None
    assert loads.load_at(11.51, limit_s) is None
    assert loads.foreign_at(11.51, limit_s) is None


def test_short_intervals_leave_an_answer_its_time() -> None:
    assert age_limit_s(0.05) == pytest.approx(1.0)
    assert age_limit_s(2.0) == pytest.approx(6.0)


def test_the_plateau_of_an_engine_that_keeps_requests_waiting() -> None:
    answers = [(1.0 + n, 40, 9, 49) for n in range(3)]
    loads = track(*answers)
    assert loads.plateau.cap == 44
    loads.forget()
    assert loads.plateau.cap is None


def test_foreign_is_what_we_did_not_send() -> None:
    assert track((1.0, 5, 3, 6)).foreign_at(1.0, 9.0) == 2


def test_foreign_is_never_negative() -> None:
    """vLLM's `/load` drifts below zero, and gauges lag behind our own count."""
    assert track((1.0, 1, 0, 6)).foreign_at(1.0, 9.0) == 0


def test_foreign_is_the_least_of_three_polls() -> None:
    loads = track((1.0, 9, 0, 0), (2.0, 8, 0, 1), (3.0, 9, 0, 1))
    assert loads.foreign_at(3.0, 9.0) == 7
    loads.observe(EngineLoad(at_s=4.0, running=9, waiting=0), 0)
    assert loads.foreign_at(4.0, 9.0) == 7
    loads.observe(EngineLoad(at_s=5.0, running=9, waiting=0), 0)
    assert loads.foreign_at(5.0, 9.0) == 8


def test_old_counts_do_not_hold_foreign_down() -> None:
    loads = track((1.0, 0, 0, 0), (9.0, 7, 0, 0))
    assert loads.foreign_at(9.0, 1.5) == 7


def test_one_known_count_is_enough() -> None:
    assert track((1.0, None, 4, 1)).foreign_at(1.0, 9.0) == 3
    assert track((1.0, None, None, 1)).foreign_at(1.0, 9.0) is None


def test_what_comes_back_is_another_engine() -> None:
    loads = track((1.0, 7, 0, 0))
    loads.forget()
    assert (loads.last, loads.foreign_at(1.0, 9.0)) == (None, None)


@pytest.mark.parametrize(
    ("configured", "stated", "plateau", "cap"),
    [
        (0, None, None, None),
        (12, 4, 3, 12),
        (0, 128, None, 128),
        (0, None, 24, 24),
        (0, 128, 24, 24),
        (0, 16, 24, 16),
    ],
)
def test_the_cap(configured: int, stated: int | None, plateau: int | None, cap: int | None) -> None:
    assert max_concurrent(configured, stated, plateau) == cap


def test_the_cap_without_any_load() -> None:
    assert max_concurrent(0, None, None) is None
    assert max_concurrent(0, None, 5) == 5


def test_a_view_without_news_keeps_caps_but_no_counts() -> None:
    load = EngineLoad(at_s=1.0, running=3)
    engine = EngineLoadView(name="a", load=load, foreign=3, max_concurrent=8)
    faded = LoadView(7, (engine,), 5.0).faded()
    assert faded == LoadView(7, (EngineLoadView(name="a", max_concurrent=8),))
