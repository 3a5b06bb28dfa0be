"""A run's loads come out as they were measured, and others follow."""

import msgspec
import pytest

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.errors import FieldError
from proa.planner.speed.calibration import MeasuredSpeed
from proa.planner.speed.measured_levels import MeasuredLevel, speed_calibration
from proa.planner.speed.performance import PerformancePlan, PerformanceSpec, performance

SPEC = PerformanceSpec(
    llm=find_model("Qwen/Qwen3-32B"),
    gpu=find_gpu("h100-80gb"),
    input_tokens=2000,
    output_tokens=300,
    users=1.0,
)
GOLDEN = (
    MeasuredLevel(users=24, tpot_s=1 / 30, ttft_s=0.6, ttft_p95_s=1.1),
    MeasuredLevel(users=32, tpot_s=1 / 18, ttft_s=1.2),
)


def plan(
    users: float, levels: tuple[MeasuredLevel, ...], hinge: MeasuredSpeed | None = None
) -> PerformancePlan:
    found = speed_calibration(SPEC, levels, hinge)
    return performance(msgspec.structs.replace(SPEC, users=users, calibration=found))


def test_the_measured_loads_come_out() -> None:
    first, second = plan(24, GOLDEN), plan(32, GOLDEN)
    assert first.user_tokens_per_s == pytest.approx(30)
    assert second.user_tokens_per_s == pytest.approx(18)
    assert (first.ttft_s, first.ttft_p95_s) == pytest.approx((0.6, 1.1))
    assert second.ttft_s == pytest.approx(1.2)


def test_loads_between_lie_between_and_more_users_are_not_faster() -> None:
    speeds = [plan(users, GOLDEN).user_tokens_per_s for users in (8, 24, 28, 32, 48)]
    assert speeds == sorted(speeds, reverse=True)
    assert 18 < speeds[2] < 30


def test_a_hinge_sets_the_slope_below_its_levels() -> None:
    steep = MeasuredSpeed(
        base_s=0.01, per_user_s=0.001, knee_users=30, input_tokens=2000, output_tokens=300
    )
    level = MeasuredLevel(users=20, tpot_s=0.03)
    assert plan(20, (level,), steep).tpot_s == pytest.approx(0.03)
    assert plan(5, (level,), steep).tpot_s == pytest.approx(0.015, rel=0.07)


def test_visits_of_a_level_count_as_their_mean() -> None:
    visits = (MeasuredLevel(users=8, tpot_s=0.02), MeasuredLevel(users=8, tpot_s=0.03))
    assert plan(8, visits).tpot_s == pytest.approx(0.025)


def test_nothing_measured_is_refused() -> None:
    with pytest.raises(FieldError, match="levels"):
        speed_calibration(SPEC, ())
    with pytest.raises(FieldError, match="tpot_s"):
        MeasuredLevel(users=8, tpot_s=0)
