"""The exact test of McNemar, and the interval beside it."""

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.statistics.mcnemar import exact_p, mcnemar

answers = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


@given(st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=30, deadline=None)
def test_p_is_that_of_a_fair_coin(only_a: int, only_b: int) -> None:
    """The sum over all outcomes that are no likelier than this one."""
    flips = only_a + only_b
    as_rare = [comb(flips, k) for k in range(flips + 1) if comb(flips, k) <= comb(flips, only_a)]
    assert exact_p(only_a, only_b) == pytest.approx(float(Fraction(sum(as_rare), 2**flips)))


@given(answers)
@settings(max_examples=30, deadline=None)
def test_sides_can_be_swapped(right: list[tuple[bool, bool]]) -> None:
    told, swapped = mcnemar(right), mcnemar([(b, a) for a, b in right])
    assert told.p_value == swapped.p_value
    assert (told.only_a, told.only_b) == (swapped.only_b, swapped.only_a)
    assert told.both + told.only_a + told.only_b + told.neither == told.pairs == len(right)
    if right:
        assert told.low == pytest.approx(-(swapped.high or 0.0))
        assert told.low is not None
        assert told.high is not None
        assert told.low <= (told.difference or 0.0) <= told.high


def test_a_worked_example() -> None:
    """5 only a, 15 only b: p = 2 P(X <= 5 of 20) = 0.0414."""
    right = [(True, False)] * 5 + [(False, True)] * 15 + [(True, True)] * 80
    told = mcnemar(right)
    assert told.p_value == pytest.approx(0.0414, abs=1e-4)
    assert told.difference == pytest.approx(0.10)
    assert told.low is not None
    assert told.low > 0


def test_without_cases_nothing_is_said() -> None:
    told = mcnemar([])
    assert (told.difference, told.low, told.high, told.p_value) == (None, None, None, 1.0)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    dice = random.Random("pairs")
    held, runs = 0, 400
    for _ in range(runs):
        drawn = dice.choices([(1, 1), (1, 0), (0, 1), (0, 0)], [0.7, 0.12, 0.04, 0.14], k=60)
        told = mcnemar([(bool(a), bool(b)) for a, b in drawn])
        assert told.low is not None
        assert told.high is not None
        held += told.low <= -0.08 <= told.high
    assert held / runs >= 0.93
