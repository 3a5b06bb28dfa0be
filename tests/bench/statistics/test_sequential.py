"""False alarms are calibrated first (B56), under looking after each request."""

import random

import pytest

from proa.bench.statistics.sequential import (
    Verdict,
    mean_verdict,
    share_verdict,
    smallest_seen,
)


def _settled(rate: float, rng: random.Random, most: int) -> tuple[Verdict, int]:
    good = 0
    for count in range(1, most + 1):
        good += rng.random() < rate
        verdict = share_verdict(good, count, 0.95)
        if verdict is not Verdict.OPEN:
            return verdict, count
    return Verdict.OPEN, most


def test_at_the_threshold_each_side_errs_in_at_most_one_of_twenty() -> None:
    rng = random.Random(6)
    found = [_settled(0.95, rng, 200)[0] for _ in range(150)]
    assert found.count(Verdict.PASS) <= 0.09 * 150
    assert found.count(Verdict.FAIL) <= 0.09 * 150


@pytest.mark.parametrize(
    ("rate", "verdict", "most"), [(1.0, Verdict.PASS, 100), (0.5, Verdict.FAIL, 16)]
)
def test_what_is_clear_is_settled_soon(rate: float, verdict: Verdict, most: int) -> None:
    rng = random.Random(7)
    runs = [_settled(rate, rng, 400) for _ in range(40)]
    assert all(found is verdict for found, _ in runs)
    assert sorted(count for _, count in runs)[36] <= most


def test_no_pass_without_59_requests() -> None:
    """Fewer could not show 95 %, not even without a miss."""
    assert share_verdict(58, 58, 0.95) is Verdict.OPEN


def test_the_mean_rule_settles_and_stays_calibrated() -> None:
    assert mean_verdict(0.2, 0.1, 20) is Verdict.PASS
    assert mean_verdict(-0.2, 0.1, 20) is Verdict.FAIL
    assert mean_verdict(0.0, 0.1, 400) is Verdict.OPEN
    assert mean_verdict(0.1, 0.0, 20) is Verdict.PASS
    assert mean_verdict(0.0, 0.0, 0) is Verdict.OPEN
    rng, wrong = random.Random(8), 0
    for _ in range(100):
        total = 0.0
        for count in range(1, 121):
            total += rng.gauss(0, 1)
            if count >= 20 and mean_verdict(total / count, 1.0, count) is not Verdict.OPEN:
                wrong += 1
                break
    assert wrong <= 0.15 * 100


def test_b56_the_smallest_shortfall_that_a_run_can_see_shrinks_with_the_root() -> None:
    """B56: a run of this length cannot tell what lies closer to the threshold."""
    seen = [0.95 - smallest_seen(count, 0.95) for count in (100, 400, 1600)]
    assert seen == sorted(seen, reverse=True)
    assert seen[2] == pytest.approx(seen[1] / 2, rel=0.1)
    rng, count = random.Random(9), 400
    rate = smallest_seen(count, 0.95)
    limit = 0.95 - 1.645 * (0.95 * 0.05 / count) ** 0.5
    found = sum(sum(rng.random() < rate for _ in range(count)) / count < limit for _ in range(300))
    assert found / 300 == pytest.approx(0.8, abs=0.08)
