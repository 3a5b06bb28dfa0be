"""The accuracy that was reached on measured loads is not lost again."""

import pytest
from benchmarks.planner_accuracy.served import served_rows
from benchmarks.planner_accuracy.speed import SpeedCase, by_kind, speed_cases, speed_stats

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.catalog.step_times import STEP_TIMES
from proa.planner.memory.weights import with_precision
from proa.planner.speed.performance import PerformanceSpec, performance

# As recorded: TPOT's mean error at most, its share within 20 %, TTFT's share within 25 %.
RECORDED = {
    "all": (0.118, 0.82, 0.66),
    "dense": (0.078, 0.85, 0.5),
    "moe": (0.125, 0.80, 0.68),
    "mla": (0.12, 0.83, 0.65),
    "hybrid": (0.15, 0.75, 0.75),
    "vllm": (0.135, 0.75, 0.73),
    "sglang": (0.112, 0.85, 0.53),
    "tensorrt-llm": (0.102, 0.87, 0.67),
    "h100-80gb": (0.107, 0.83, 0.75),
    "h200-141gb": (0.124, 0.76, 0.61),
    "b200-180gb": (0.114, 0.84, 0.65),
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


def step_ms(gpu: str, model: str, precision: str, users: float) -> float:
    plan = performance(
        PerformanceSpec(
            llm=with_precision(find_model(model), precision),
            gpu=find_gpu(gpu),
            input_tokens=300,
            output_tokens=300,
            users=users,
        )
    )
    return plan.itl_s * 1e3


def measured_ms(gpu: str, billions: float, users: float) -> float:
    (row,) = (r for r in STEP_TIMES if r.gpu == gpu and r.parameters == billions * 1e9)
    return row.step.step_s(users) * 1e3


@pytest.mark.parametrize(
    ("gpu", "billions", "precision", "users"),
    [
        ("rtx-pro-6000-96gb", 8.0, "bf16", 20.0),
        ("rtx-pro-6000-96gb", 14.0, "bf16", 20.0),
        ("rtx-5060-ti-16gb", 8.0, "int4", 1.0),
        ("rtx-5060-ti-16gb", 8.0, "int4", 20.0),
        ("rtx-5060-ti-16gb", 14.0, "int4", 1.0),
    ],
)
def test_gpus_that_no_constant_was_fitted_to(
    gpu: str, billions: float, precision: str, users: float
) -> None:
    planned = step_ms(gpu, f"Qwen/Qwen3-{billions:.0f}B", precision, users)
    assert planned == pytest.approx(measured_ms(gpu, billions, users), rel=0.18)
