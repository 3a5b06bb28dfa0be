"""What is said at the end, and how much more it takes to say it."""

import random

import pytest

from proa.bench.slo import parse_slo
from proa.bench.statistics.boundary_text import boundary_text
from proa.bench.statistics.conclusion import conclude
from proa.bench.statistics.evidence import Evidence, Question
from proa.bench.statistics.search import next_level, users_search
from proa.domain.contract import ContractRule

SLO = parse_slo("user_tokens_per_s>=30,ttft_s<=2")
SPEC = users_search((8, 16, 24, 32, 48))


def level(load: float, mean: float, requests: int = 90) -> Evidence:
    return Evidence(load=load, requests=requests, mean=mean, seconds=2.0 * requests)


def found_at_27() -> list[Evidence]:
    return [
        level(8, 1.0), level(16, 1.0), level(24, 0.99), level(26, 0.99), level(27, 0.97),
        level(28, 0.93), level(29, 0.80), level(32, 0.10), level(48, 0.0),
    ]  # fmt: skip


def test_the_boundary_is_told_with_its_levels_and_interval() -> None:
    found = conclude(found_at_27(), SPEC)
    assert found is not None
    assert (found.passes, found.fails) == (24, 32)
    assert found.estimate == 27
    assert found.high is not None
    assert 25 <= found.low <= 27 <= found.high <= 28
    assert found.decided
    assert found.attainment_low is not None
    assert 0.94 < found.attainment_low < 0.99


def test_the_sentence_in_english_and_korean() -> None:
    found = conclude(found_at_27(), SPEC)
    assert found is not None
    assert boundary_text(found, SLO, "en") == (
        "24 users keep ≥ 30 tok/s, TTFT ≤ 2 s (99.0% of requests, 95.0% or more at 95 % "
        f"confidence), 32 users do not; boundary 27, 90% interval {found.low:g}–{found.high:g}"
    )
    korean = boundary_text(found, SLO, "ko")
    assert "사용자 24명에서는 ≥ 30 tok/s, TTFT ≤ 2 s" in korean
    assert f"경계 27, 90% 구간 {found.low:g}–{found.high:g}" in korean


def test_what_is_not_decided_says_how_much_more_it_takes() -> None:
    short = [level(8, 1.0, 20), level(16, 1.0, 20), level(24, 0.95, 20), level(32, 0.6, 20)]
    found = conclude(short, SPEC)
    assert found is not None
    assert not found.decided
    assert found.more_requests is not None
    assert found.more_minutes is not None
    assert 30 < found.more_requests < 3000
    assert found.more_minutes == pytest.approx(found.more_requests * 2 / 60, rel=0.01)
    text = boundary_text(found, SLO, "en")
    assert f"not decided: {found.more_requests:,} more requests" in text
    assert "판정 보류" in boundary_text(found, SLO, "ko")


def test_the_forecast_of_what_it_takes_is_of_the_right_size() -> None:
    """What the search then really took is within a factor of 4 in nine of ten runs."""
    right = 0
    for seed in range(12):
        rng = random.Random(seed)
        history = [_measured(load, rng) for load in SPEC.ladder]
        found = conclude(history, SPEC)
        assert found is not None
        begun, forecast = len(history), found.more_requests or 0
        spec = users_search((8, 16, 24, 32, 48), repeat_first=False)
        while (ask := next_level(history, spec, rng)) is not None:
            history.append(_measured(ask.load, rng))
        took = sum(one.requests for one in history[begun:])
        right += forecast / 4 <= took <= forecast * 4 + 60
    assert right >= 10


def _measured(load: float, rng: random.Random) -> Evidence:
    kept = 1 / (1 + 2.718 ** (0.5 * (load - 33)))
    good = sum(rng.random() < kept for _ in range(60))
    return level(load, good / 60, 60)


def test_levels_that_all_pass_leave_the_end_open() -> None:
    found = conclude([level(load, 1.0) for load in SPEC.ladder], SPEC)
    assert found is not None
    assert (found.passes, found.fails, found.high) == (48, None, None)
    assert found.estimate is None
    assert found.decided
    assert "beyond the highest level" in boundary_text(found, SLO, "en")
    assert "가장 높은 단계를 넘습니다" in boundary_text(found, SLO, "ko")


def test_levels_that_all_fail_reach_down_to_nobody() -> None:
    found = conclude([level(load, 0.1) for load in SPEC.ladder], SPEC)
    assert found is not None
    assert (found.passes, found.fails, found.low) == (None, 8, 0)
    assert not found.decided
    assert "no level is shown to keep" in boundary_text(found, SLO, "en")


def test_nothing_measured_says_nothing() -> None:
    assert conclude([], SPEC) is None
    assert conclude([Evidence(load=8, requests=0, mean=0.0)], SPEC) is None


def test_the_mean_rule_has_margins() -> None:
    spec = users_search((8, 16, 24, 32), question=Question(0.0, of_mean=True))
    margins = ((8, 0.5), (16, 0.3), (24, 0.1), (26, 0.03), (28, -0.02), (32, -0.2))
    history = [
        Evidence(load=load, requests=60, mean=mean, deviation=0.08) for load, mean in margins
    ]
    found = conclude(history, spec)
    assert found is not None
    assert (found.passes, found.fails) == (24, 32)
    assert found.low >= 24
    assert found.attainment == pytest.approx(0.1)
    mean = parse_slo("user_tokens_per_s>=30", rule=ContractRule.MEAN)
    assert "mean +10.0% from the bound" in boundary_text(found, mean, "en")
    rates = boundary_text(found, mean, "en", of_rates=True)
    assert rates.startswith("24 requests/s keep")
