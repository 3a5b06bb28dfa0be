"""Shifts of paired measurements: against all Walsh averages, moved and turned, and by coverage."""

import random
from itertools import combinations_with_replacement
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.statistics.hodges_lehmann import interval_rank, shift

values = st.lists(st.floats(-1e3, 1e3, width=32), min_size=6, max_size=30)


def walsh(differences: list[float]) -> list[float]:
    return sorted((a + b) / 2 for a, b in combinations_with_replacement(differences, 2))


@given(values)
@settings(max_examples=25, deadline=None)
def test_it_is_the_median_of_all_walsh_averages_and_two_of_their_ranks(found: list[float]) -> None:
    averages, told = walsh(found), shift(found)
    rank = interval_rank(len(found), 0.95)
    assert told.estimate == pytest.approx(median(averages), rel=1e-9, abs=1e-9)
    assert told.low == pytest.approx(averages[rank - 1], rel=1e-9, abs=1e-9)
    assert told.high == pytest.approx(averages[-rank], rel=1e-9, abs=1e-9)


@given(values, st.floats(-100, 100), st.floats(0.1, 10))
@settings(max_examples=25, deadline=None)
def test_what_is_added_to_all_is_added_to_the_shift(
    found: list[float], added: float, factor: float
) -> None:
    told, moved = shift(found), shift([factor * value + added for value in found])
    for name in ("estimate", "low", "high"):
        expected = factor * getattr(told, name) + added
        assert getattr(moved, name) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(values)
@settings(max_examples=25, deadline=None)
def test_turned_round_it_is_turned_round(found: list[float]) -> None:
    told, turned = shift(found), shift([-value for value in found])
    assert told.low is not None
    assert turned.high == pytest.approx(-told.low, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("count", "rank"), [(5, 0), (6, 1), (8, 4), (10, 9), (20, 53), (25, 90)])
def test_ranks_are_those_of_the_tables(count: int, rank: int) -> None:
    """Hollander, Wolfe & Chicken 2014, table A.4; 1 + the greatest W with P <= 0.025."""
    assert interval_rank(count, 0.95) == rank


def test_the_normal_law_takes_over_without_a_step() -> None:
    assert interval_rank(101, 0.95) - interval_rank(100, 0.95) in range(35, 45)


def test_one_long_pause_moves_nothing() -> None:
    quiet = [0.001 * n for n in range(20)]
    assert shift([*quiet, 1e6]).estimate == pytest.approx(0.01, abs=0.001)


def test_too_few_have_no_interval() -> None:
    assert (shift([]).estimate, shift([]).n) == (None, 0)
    five = shift([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (five.estimate, five.low, five.high, five.half_width) == (3.0, None, None, None)
    assert shift([2.0] * 6).half_width == 0.0


@pytest.mark.parametrize("count", [8, 110])
def test_the_interval_holds_the_truth_as_often_as_it_says(count: int) -> None:
    """Triangular noise (two uniform waits), with a pause in every tenth pair on either side."""
    dice = random.Random(f"coverage {count}")
    held, runs = 0, 150
    for _ in range(runs):
        noise = [
            dice.random() - dice.random() + (dice.random() < 0.1) * dice.choice((-30, 30))
            for _ in range(count)
        ]
        told = shift([0.3 + value for value in noise])
        assert told.low is not None
        assert told.high is not None
        held += told.low <= 0.3 <= told.high
    assert held / runs >= 0.92
