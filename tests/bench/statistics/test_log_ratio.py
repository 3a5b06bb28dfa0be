"""Ratios over rounds: their mean, their scale, and how often the interval holds the truth."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.statistics.log_ratio import ratio, student_quantile

speeds = st.lists(st.floats(1, 1e4), min_size=3, max_size=8)


def test_students_quantiles_are_those_of_the_tables() -> None:
    assert student_quantile(0.975, 2) == pytest.approx(4.3027, abs=1e-4)
    assert student_quantile(0.975, 10) == pytest.approx(2.2281, abs=1e-4)


def test_a_worked_example() -> None:
    """Logs of 2, 2, 4: mean ln(2) 4/3, deviation ln(2) sqrt(1/3)."""
    told = ratio([20.0, 40.0, 40.0], [10.0, 20.0, 10.0])
    half = 4.30265 * math.log(2) * math.sqrt(1 / 3) / math.sqrt(3)
    assert told.estimate == pytest.approx(2 ** (4 / 3))
    assert told.low == pytest.approx(2 ** (4 / 3) * math.exp(-half), rel=1e-4)
    assert told.rounds == 3


@given(speeds, st.floats(0.01, 100))
@settings(max_examples=40, deadline=None)
def test_a_factor_on_one_side_is_a_factor_on_all(found: list[float], factor: float) -> None:
    below = [10.0] * len(found)
    told, more = ratio(found, below), ratio([factor * value for value in found], below)
    for name in ("estimate", "low", "high"):
        assert getattr(more, name) == pytest.approx(factor * getattr(told, name), rel=1e-6)


def test_what_served_nothing_is_no_round() -> None:
    assert ratio([0.0, 5.0], [5.0, 5.0]).rounds == 1
    one = ratio([5.0], [4.0])
    assert (one.estimate, one.low, one.high) == (1.25, None, None)
    assert ratio([], []).estimate is None


def test_three_rounds_hold_the_truth_as_often_as_they_say() -> None:
    """Rounds drift by up to half; parts vary by 3 %."""
    dice = random.Random("ratios")
    held, runs = 0, 400
    for _ in range(runs):
        drift = [dice.uniform(0.5, 1.0) for _ in range(3)]
        below = [1000 * d * dice.gauss(1, 0.03) for d in drift]
        above = [1400 * d * dice.gauss(1, 0.03) for d in drift]
        told = ratio(above, below)
        assert told.low is not None
        assert told.high is not None
        held += told.low <= 1.4 <= told.high
    assert 0.92 <= held / runs <= 0.98
