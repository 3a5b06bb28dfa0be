"""Effective size: independent values count fully, values in step count once together."""

import random

import pytest

from proa.bench.statistics.effective import (
    batch_variance,
    design_effect,
    effective_size,
    standard_error,
)


def test_independent_values_count_almost_fully() -> None:
    rng = random.Random(1)
    series = [[rng.gauss(0, 1) for _ in range(60)] for _ in range(50)]
    assert design_effect([batch_variance(values, 20) for values in series]) < 1.25


def test_values_in_step_count_as_their_waves() -> None:
    rng = random.Random(2)
    series = []
    for _ in range(50):
        waves = [rng.gauss(0, 1) for _ in range(6)]
        series.append([wave + rng.gauss(0, 0.5) for wave in waves for _ in range(20)])
    effect = design_effect([batch_variance(values, 20) for values in series])
    assert effect == pytest.approx(20 / 1.25, rel=0.25)
    too_short = design_effect([batch_variance(values[:40], 4) for values in series])
    assert too_short < effect


def test_what_does_not_vary_or_is_short_tells_nothing() -> None:
    assert batch_variance([1.0] * 40) is None
    assert batch_variance([1.0, 0.0, 1.0]) is None
    assert design_effect([None]) == 1.0
    assert effective_size([1.0] * 40) == 40
    assert standard_error([1.0] * 7) is None


def test_the_standard_error_covers_the_mean_of_correlated_values() -> None:
    rng = random.Random(3)
    inside = 0
    for _ in range(300):
        values, state = [], 0.0
        for _ in range(240):
            state = 0.7 * state + rng.gauss(0, 1)
            values.append(state)
        error = standard_error(values)
        assert error is not None
        inside += abs(sum(values) / len(values)) < 1.96 * error
    assert inside / 300 > 0.85
