"""Percentiles that are told only where their number carries them."""

import random
from statistics import fmean

import pytest

from proa.bench.percentiles import interval, percentile, summary


@pytest.mark.parametrize(("share", "needed"), [(0.5, 5), (0.95, 59), (0.99, 299), (0.05, 59)])
def test_small_numbers_tell_no_percentile(share: float, needed: int) -> None:
    """0.95^59 = 4.85 %, 0.99^299 = 4.95 %."""
    values = [float(n) for n in range(1, needed + 1)]
    assert percentile(values[:-1], share) is None
    assert percentile(values, share) is not None


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, share) for share in (0.05, 0.5, 0.95)] == [5.0, 50.0, 95.0]


def test_b7_what_was_not_measured_is_missing_and_not_zero() -> None:
    """B7: evalscope #1694: 12 of 40 without a first token must not pull the median to 0."""
    told = summary([9.5] * 28 + [None] * 12)
    assert (told.p50, told.mean, told.n, told.missing) == (9.5, 9.5, 28, 12)
    nothing = summary([None] * 10)
    assert (nothing.mean, nothing.p50, nothing.n, nothing.missing) == (None, None, 0, 10)


def test_failures_are_worse_than_all() -> None:
    told = summary([1.0] * 90, failures=10)
    assert (told.p95, told.with_failures["p50"], told.with_failures["p95"]) == (1.0, 1.0, None)
    speeds = summary([30.0] * 90, failures=10, higher_is_better=True)
    assert (speeds.with_failures["p05"], speeds.with_failures["p50"]) == (0.0, 30.0)


def test_the_interval_of_a_median_is_the_tabulated_one() -> None:
    """Order statistics 40 and 61 of 100 hold the median with 95 % (Hahn & Meeker, table)."""
    values = [float(n) for n in range(1, 101)]
    assert interval(values, 0.5) == (40.0, 61.0)
    assert interval(values[:5], 0.5) is None


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_intervals_hold_the_truth_as_often_as_they_say(share: float) -> None:
    dice = random.Random(5)
    held = 0
    for _ in range(300):
        found = interval(sorted(dice.random() for _ in range(120)), share)
        held += found is not None and found[0] <= share <= found[1]
    assert held >= 0.92 * 300


def test_intervals_of_requests_that_run_together_hold_the_truth() -> None:
    """Waves of 10 requests with 40 % of their variance in common; the true median is 0."""
    dice = random.Random(8)
    hits = {0: 0, 10: 0}
    for _ in range(300):
        waves = [dice.gauss(0, 0.4**0.5) for _ in range(16)]
        values = [wave + dice.gauss(0, 0.6**0.5) for wave in waves for _ in range(10)]
        for together in hits:
            found = summary(values, together=together).p50_interval
            assert found is not None
            hits[together] += found[0] <= 0 <= found[1]
    assert hits[0] / 300 < 0.80
    assert hits[10] / 300 >= 0.92


def test_independent_values_count_in_full() -> None:
    dice = random.Random(9)
    alike = [summary([dice.random() for _ in range(160)], together=8) for _ in range(40)]
    assert fmean(one.effective_n or 0.0 for one in alike) > 125
    assert summary([1.0] * 20, together=4).effective_n == 20
    assert summary([], together=4).effective_n is None
    assert summary(range(100)).p50_interval == summary(range(100), together=0).p50_interval
