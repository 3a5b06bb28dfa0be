"""TGI and TensorRT-LLM: what their sources say of the cache."""

from collections.abc import Callable

import pytest
from tests.planner.engine_starts import start

from proa.errors import InputError
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.fit.tensorrt import TensorRtProfile
from proa.planner.fit.tgi import TgiProfile

Fit = Callable[[FitSpec], FitPlan]
FITS: dict[str, Fit] = {"tgi": TgiProfile().fit, "tensorrt-llm": TensorRtProfile().fit}


def parts_of(plan: FitPlan) -> int:
    return plan.weights_bytes + plan.activation_bytes + plan.non_torch_bytes + plan.cuda_graph_bytes


def test_tgi_leaves_a_tenth_of_the_gpu() -> None:
    plan = FITS["tgi"](start("tgi", "h100-80gb", max_model_len=8192))
    assert plan.requested_bytes == round(0.9 * plan.gpu_bytes)
    assert plan.kv_cache_bytes == plan.requested_bytes - parts_of(plan)
    assert plan.kv_cache_tokens == plan.kv_cache_bytes // 147_456


def test_tensorrt_leaves_a_tenth_of_what_is_left() -> None:
    plan = FITS["tensorrt-llm"](start("tensorrt-llm", "h100-80gb", max_model_len=8192))
    free = plan.gpu_bytes - parts_of(plan)
    assert plan.kv_cache_bytes == round(0.9 * free)
    assert plan.kv_cache_tokens % 32 == 0


@pytest.mark.parametrize("engine", FITS)
def test_both_say_that_they_are_estimates(engine: str) -> None:
    plan = FITS[engine](start(engine, "h100-80gb", max_model_len=8192))
    assert plan.fits
    assert plan.uncertain
    assert plan.max_concurrency == plan.kv_cache_tokens / 8192


@pytest.mark.parametrize("engine", FITS)
@pytest.mark.parametrize("share", [0.0, -0.1, 1.5])
def test_no_share(engine: str, share: float) -> None:
    with pytest.raises(InputError, match="gpu_memory_utilization"):
        FITS[engine](start(engine, "h100-80gb", gpu_memory_utilization=share))


@pytest.mark.parametrize("engine", FITS)
def test_no_room(engine: str) -> None:
    plan = FITS[engine](start(engine, "rtx-3060-12gb"))
    assert not plan.fits
    assert (plan.kv_cache_tokens, plan.max_concurrency) == (0, 0.0)
    assert plan.kv_cache_bytes < 0
