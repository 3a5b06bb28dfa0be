"""Pooling: the curve falls, keeps the total, and each cut is the best of its kind."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.statistics.isotonic import Level, cut_scores, falling, mean_score, share_score

_LEVELS = st.lists(st.tuples(st.floats(1, 200), st.floats(0, 1)), min_size=1, max_size=5).map(
    lambda rows: [Level(float(n), weight, mean) for n, (weight, mean) in enumerate(rows)]
)


def test_a_violation_is_pooled_by_weight() -> None:
    levels = [Level(8, 30, 0.99), Level(16, 10, 0.90), Level(24, 30, 0.98), Level(32, 10, 0.2)]
    assert falling(levels) == pytest.approx([0.99, 0.96, 0.96, 0.2])
    assert falling([]) == []


@settings(max_examples=25, deadline=None)
@given(_LEVELS)
def test_the_curve_falls_and_keeps_the_total(levels: list[Level]) -> None:
    curve = falling(levels)
    assert all(before >= after - 1e-12 for before, after in itertools.pairwise(curve))
    kept = math.fsum(level.weight * value for level, value in zip(levels, curve, strict=True))
    assert kept == pytest.approx(math.fsum(level.weight * level.mean for level in levels))


@settings(max_examples=25, deadline=None)
@given(_LEVELS)
def test_no_falling_curve_through_a_cut_scores_higher(levels: list[Level]) -> None:
    scores = cut_scores(levels, 0.5, mean_score)
    values = [step / 4 for step in range(5)]
    for curve in itertools.combinations_with_replacement(values, len(levels)):
        score = sum(
            mean_score(level.weight, level.mean, value)
            for level, value in zip(levels, sorted(curve, reverse=True), strict=True)
        )
        cut = sum(value >= 0.5 for value in curve)
        touching = sum(value > 0.5 for value in curve)
        for place in range(touching, cut + 1):
            assert score <= scores[place] + 1e-9


def test_the_best_cut_is_where_attainment_crosses() -> None:
    levels = [Level(8, 90, 1.0), Level(16, 90, 0.99), Level(24, 60, 0.80), Level(32, 60, 0.10)]
    scores = cut_scores(levels, 0.95, share_score)
    assert scores.index(max(scores)) == 2
    assert 2 * (scores[2] - scores[3]) > 3
    assert 2 * (scores[2] - scores[1]) > 3
