"""Visits of one level are pooled, and what differs between them widens what they tell."""

import pytest

from proa.bench.statistics.effective import BatchVariance
from proa.bench.statistics.evidence import Evidence, Question, pooled, verdict_of
from proa.bench.statistics.sequential import Verdict


def visit(load: float, requests: float, mean: float, **fields: float) -> Evidence:
    return Evidence(load=load, requests=requests, mean=mean, deviation=fields.get("deviation"))


def test_levels_come_by_load_with_their_means() -> None:
    levels, effect = pooled([visit(24, 60, 0.9), visit(8, 40, 1.0), visit(24, 20, 0.94)])
    assert [level.load for level in levels] == [8, 24]
    assert levels[1].mean == pytest.approx(0.91)
    assert levels[1].weight == pytest.approx(80 / effect)
    assert effect == 1.0


def test_moods_between_visits_make_requests_count_less() -> None:
    steady = [visit(24, 60, 0.95)] * 6
    moody = [visit(24, 60, 0.95 + sign * 0.05) for sign in (1, -1, 1, -1, 1, -1)]
    assert pooled(steady)[1] == 1.0
    assert pooled(moody)[1] > 1.5


def test_requests_in_step_count_less() -> None:
    step = BatchVariance(between=0.2, single=0.05, freedom=4)
    alike = [Evidence(load=8, requests=60, mean=0.95, batches=step)] * 5
    assert pooled(alike)[1] > 2


def test_a_level_without_requests_is_no_level() -> None:
    assert pooled([visit(8, 0, 0.0)])[0] == []
    assert verdict_of([visit(8, 0, 0.0)], Question(), 1.0) is Verdict.OPEN


def test_a_verdict_needs_effective_requests() -> None:
    found = [visit(24, 50, 1.0), visit(24, 50, 1.0)]
    assert verdict_of(found, Question(), 1.0) is Verdict.PASS
    assert verdict_of(found, Question(), 2.0) is Verdict.OPEN
    slow = [visit(24, 60, -0.1, deviation=0.2)]
    assert verdict_of(slow, Question(0.0, of_mean=True), 1.0) is Verdict.FAIL
