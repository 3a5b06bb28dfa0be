"""The accuracy that was reached on measured loads is not lost again."""

import pytest
from benchmarks.planner_accuracy.served import served_rows
from benchmarks.planner_accuracy.speed import SpeedCase, by_kind, speed_cases, speed_stats

# As recorded: TPOT's mean error at most, its share within 20 %, TTFT's share within 25 %.
RECORDED = {
    "all": (0.125, 0.84, 0.61),
    "dense": (0.08, 0.92, 0.50),
    "moe": (0.13, 0.83, 0.63),
    "mla": (0.12, 0.86, 0.62),
    "hybrid": (0.14, 1.0, 0.75),
    "vllm": (0.15, 0.78, 0.68),
    "sglang": (0.11, 0.89, 0.53),
    "trtllm": (0.11, 0.90, 0.61),
    "h100-80gb": (0.13, 0.91, 0.66),
    "h200-141gb": (0.125, 0.82, 0.56),
    "b200-180gb": (0.12, 0.80, 0.61),
}


@pytest.fixture(scope="module")
def cases() -> list[SpeedCase]:
    return speed_cases(served_rows())


@pytest.fixture(scope="module")
def whole(cases: list[SpeedCase]) -> list[SpeedCase]:
    return [case for case in cases if case.row.decode is None]


def test_there_are_enough_cases(whole: list[SpeedCase]) -> None:
    assert len(whole) >= 100
    assert len({case.row.model for case in whole}) >= 15


def test_the_targets_of_gaps_hold(whole: list[SpeedCase]) -> None:
    stats = speed_stats(whole)
    assert stats.tpot_mean <= 0.15
    assert stats.tpot_within_20 >= 0.80


@pytest.mark.parametrize("kind", list(RECORDED))
def test_no_kind_gets_worse(whole: list[SpeedCase], kind: str) -> None:
    stats = by_kind(whole)[kind]
    most, gaps, firsts = RECORDED[kind]
    assert stats.tpot_mean <= most
    assert stats.tpot_within_20 >= gaps
    assert stats.ttft_within_25 >= firsts


def test_decoding_engines_of_disaggregated_ones_are_not_far_off(cases: list[SpeedCase]) -> None:
    split = [case for case in cases if case.row.decode is not None]
    assert len(split) >= 30
    assert speed_stats(split).tpot_median <= 0.22
