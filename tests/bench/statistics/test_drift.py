"""Drift is told with an interval; noise is none."""

import random

import pytest

from proa.bench.statistics.drift import drift_between


def series(mean: float, rng: random.Random) -> list[float]:
    return [rng.gauss(mean, 0.02 * mean) for _ in range(60)]


def test_a_slower_end_is_seen() -> None:
    rng = random.Random(10)
    found = drift_between(series(0.030, rng), series(0.033, rng))
    assert found is not None
    assert found.is_seen
    assert found.change == pytest.approx(0.10, abs=0.02)
    assert found.low < found.change < found.high


def test_noise_is_no_drift() -> None:
    rng = random.Random(11)
    seen = 0
    for _ in range(100):
        found = drift_between(series(0.030, rng), series(0.030, rng))
        assert found is not None
        seen += found.is_seen
    assert seen <= 8


def test_too_few_values_tell_nothing() -> None:
    assert drift_between([0.03] * 7, [0.03] * 60) is None
