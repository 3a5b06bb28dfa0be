"""The fit sees what the planner says, and finds constants again that made the rows."""

import numpy as np
import pytest
from benchmarks.planner_accuracy.served import served_spec
from benchmarks.planner_accuracy.speed_fitting import Loads, fitted, loads, names, planned

from proa.catalog.gpus import find_gpu
from proa.planner.speed.efficiency import (
    MEASURED_ENGINES,
    MEASURED_FAMILIES,
    pace_of,
    serving_of,
)
from proa.planner.speed.performance import performance

_GPUS = {"hopper": find_gpu("h100-80gb"), "blackwell": find_gpu("b200-180gb")}


@pytest.fixture(scope="module")
def data() -> Loads:
    return loads()


@pytest.fixture(scope="module")
def constants() -> dict[str, float]:
    """Those of the planner."""
    found: dict[str, float] = {}
    for engine in MEASURED_ENGINES:
        pace, serve = pace_of(engine, _GPUS["hopper"]), serving_of(engine)
        found[f"kernel_us:{engine}"] = pace.kernel_s * 1e6
        found[f"sequence_us:{engine}"] = pace.sequence_s * 1e6
        found[f"burst:{engine}"] = serve.burst
        found[f"first_steps:{engine}"] = serve.first_steps
        found[f"launch_us:{engine}"] = serve.launch_s * 1e6
    for family in MEASURED_FAMILIES:
        pace = pace_of("vllm", _GPUS[family])
        for name in ("math", "expert_math", "expert_read", "attention_math"):
            found[f"{name}:{family}"] = getattr(pace, name)
    for name in ("read", "cache_read"):
        found[name] = getattr(pace, name)
    found["blocked"] = serving_of("vllm").blocked
    return found


def test_every_constant_is_the_planners(constants: dict[str, float]) -> None:
    assert sorted(constants) == sorted(names())


def test_arrays_of_the_fit_give_the_plans(data: Loads, constants: dict[str, float]) -> None:
    tpot, ttft = planned(data, constants)
    for at, row in list(enumerate(data.rows))[::7]:
        plan = performance(served_spec(row))
        assert (tpot[at], ttft[at]) == pytest.approx((plan.tpot_s, plan.ttft_s), rel=1e-6)


def test_constants_are_found_again(data: Loads, constants: dict[str, float]) -> None:
    tpot, ttft = planned(data, constants)
    made = data._replace(tpot_s=tpot, ttft_s=ttft)
    found = fitted(made, np.ones(len(data.rows), dtype=np.bool_), searched=0)
    again, first = planned(made, found)
    assert np.median(abs(again / tpot - 1)) < 0.03
    assert np.median(abs(first / ttft - 1)) < 0.06
