"""One load run corrects the model for other loads of the same engine."""

import msgspec
import pytest

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.errors import FieldError
from proa.planner.speed.calibration import (
    MeasuredSpeed,
    SpeedCalibration,
    calibrated,
    calibration_of,
)
from proa.planner.speed.performance import PerformanceSpec, engine_of, performance
from proa.planner.speed.serving_formula import Engine, Load, closed_loop, prefill_s

SPEC = PerformanceSpec(
    llm=find_model("Qwen/Qwen3-8B"),
    gpu=find_gpu("h100-80gb"),
    input_tokens=2000,
    output_tokens=300,
    users=1.0,
)
TRUTHS = (
    SpeedCalibration(fixed=1.4, sequence=0.7, prompt=1.3, first_s=0.06),
    SpeedCalibration(fixed=0.8, sequence=1.6, prompt=0.7, first_s=0.01),
)
KNEE = 24.0


def served(engine: Engine, users: float, tokens_in: float = 2000.0) -> tuple[float, float]:
    result = closed_loop(engine, Load(users, users, tokens_in, tokens_in, 300.0))
    return result.tpot_s, result.ttft_s


def measured(engine: Engine) -> MeasuredSpeed:
    (one, ttft), (knee, _) = served(engine, 1.0), served(engine, KNEE)
    slope = (knee - one) / (KNEE - 1)
    return MeasuredSpeed(
        base_s=one - slope,
        per_user_s=slope,
        knee_users=KNEE,
        input_tokens=2000,
        output_tokens=300,
        prefill_tokens_per_s=2000 / prefill_s(engine, Load(1.0, 1.0, 2000.0, 2000.0, 300.0)),
        ttft_s=ttft,
    )


@pytest.mark.parametrize("truth", TRUTHS)
def test_other_loads_are_foretold_after_one_run(truth: SpeedCalibration) -> None:
    engine = engine_of(SPEC)
    real = calibrated(engine, truth)
    ours = calibrated(engine, calibration_of(engine, measured(real)))
    for users, tokens_in in ((4.0, 2000.0), (16.0, 8000.0), (48.0, 2000.0), (8.0, 500.0)):
        (tpot, ttft), (real_tpot, real_ttft) = (
            served(ours, users, tokens_in),
            served(real, users, tokens_in),
        )
        assert tpot == pytest.approx(real_tpot, rel=0.07)
        assert ttft == pytest.approx(real_ttft, rel=0.15)


def test_without_prefill_and_ttft_these_stay_the_models() -> None:
    engine = engine_of(SPEC)
    short = msgspec.structs.replace(measured(engine), prefill_tokens_per_s=None, ttft_s=None)
    found = calibration_of(engine, short)
    assert (found.prompt, found.first_s) == (1.0, None)
    assert found.fixed == pytest.approx(1, rel=1e-3)


def test_a_plan_takes_the_calibration() -> None:
    slower = SpeedCalibration(fixed=2.0, sequence=2.0)
    plan = performance(msgspec.structs.replace(SPEC, calibration=slower))
    assert plan.itl_s == pytest.approx(2 * performance(SPEC).itl_s, rel=0.05)


@pytest.mark.parametrize("field", ["base_s", "input_tokens", "prefill_tokens_per_s", "ttft_s"])
def test_what_cannot_be_measured_is_refused(field: str) -> None:
    with pytest.raises(FieldError, match=field):
        msgspec.structs.replace(measured(engine_of(SPEC)), **{field: 0})


def test_a_knee_of_one_user_is_no_line() -> None:
    with pytest.raises(FieldError, match="knee_users"):
        msgspec.structs.replace(measured(engine_of(SPEC)), knee_users=1)
