"""The warm-up ends where the series is steady, and noise alone costs nothing."""

import random

from proa.bench.statistics.warm_up import mser5, steady_from


def test_a_transient_is_cut_at_its_end() -> None:
    rng = random.Random(4)
    series = [100 + rng.gauss(0, 1) for _ in range(25)] + [30 + rng.gauss(0, 1) for _ in range(75)]
    assert mser5(series) in (25, 30)
    assert steady_from(series) == mser5(series)


def test_noise_is_seldom_cut() -> None:
    rng = random.Random(5)
    cuts = [steady_from([rng.gauss(30, 3) for _ in range(80)]) for _ in range(200)]
    assert sum(cut > 0 for cut in cuts) < 20


def test_never_more_than_half_is_cut() -> None:
    falling = [0.9**n for n in range(60)]
    assert mser5(falling) == 30
    assert mser5([]) == 0
    assert steady_from([1.0] * 7) == 0


def test_b38_the_first_wave_in_step_is_found() -> None:
    """B38: exactly N outliers, however they were counted before."""
    ttfts = [2.0] * 15 + [0.3 + 0.01 * (n % 5) for n in range(60)]
    assert steady_from(ttfts) == 15
