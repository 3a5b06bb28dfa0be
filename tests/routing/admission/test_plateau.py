"""The cap that is read off an engine's own numbers."""

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from proa.routing.admission.plateau import CONFIRMED, PlateauCap

counts = st.integers(0, 500)
answers = st.lists(st.tuples(counts, counts), max_size=60)


def poll(plateau: PlateauCap, capacity: int, demand: int, polls: int = 1) -> None:
    """An engine with room for `capacity`, which gets as much of `demand` as the cap allows."""
    for _ in range(polls):
        given_to_it = demand if plateau.cap is None else min(demand, plateau.cap)
        running = min(capacity, given_to_it)
        plateau.observe(running, given_to_it - running)


def test_no_cap_before_somebody_waited_in_the_engine() -> None:
    plateau = PlateauCap()
    poll(plateau, capacity=64, demand=60, polls=50)
    assert plateau.cap is None


def test_a_burst_is_no_plateau() -> None:
    """For a moment after a burst few run and many wait in every engine."""
    plateau = PlateauCap()
    plateau.observe(3, 97)
    plateau.observe(100, 0)
    assert plateau.cap is None


def test_the_plateau_and_a_tenth() -> None:
    plateau = PlateauCap()
    poll(plateau, capacity=64, demand=200, polls=CONFIRMED)
    assert plateau.cap == 71


@given(st.integers(1, 400), st.integers(1, 400))
def test_it_finds_the_new_capacity_when_that_changes(before: int, after: int) -> None:
    plateau = PlateauCap()
    for capacity in (before, after):
        poll(plateau, capacity, demand=10_000, polls=100)
        assert plateau.cap is not None
        assert capacity < plateau.cap <= max(capacity + 1, ceil(capacity * 1.1) + 1)


def test_it_grows_fast_when_much_more_can_run() -> None:
    """From 10 to 200 within ten polls, five seconds."""
    plateau = PlateauCap()
    poll(plateau, capacity=10, demand=1000, polls=CONFIRMED)
    poll(plateau, capacity=200, demand=1000, polls=10)
    assert plateau.cap is not None
    assert plateau.cap >= 200


def test_silence_takes_the_cap_away() -> None:
    plateau = PlateauCap()
    poll(plateau, capacity=8, demand=20, polls=CONFIRMED)
    plateau.observe(None, None)
    assert plateau.cap is None
    poll(plateau, capacity=8, demand=20)
    assert plateau.cap is None


@given(answers)
def test_a_cap_lets_more_pass_than_ever_ran_lately(seen: list[tuple[int, int]]) -> None:
    plateau = PlateauCap()
    for running, waiting in seen:
        plateau.observe(running, waiting)
        assert plateau.cap is None or plateau.cap > running
