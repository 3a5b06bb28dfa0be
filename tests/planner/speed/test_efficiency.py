"""What engines reach of the roof."""

import pytest

from proa.catalog.gpus import find_gpu
from proa.planner.speed.efficiency import MEASURED_ENGINES, pace_of, serving_of

GPUS = ("h100-80gb", "b200-180gb", "rtx-5090-32gb", "mi300x-192gb")
SHARES = ("read", "expert_read", "cache_read", "math", "expert_math", "attention_math")


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("engine", [*MEASURED_ENGINES, "llamacpp"])
def test_nothing_is_faster_than_its_roof(engine: str, gpu: str) -> None:
    pace = pace_of(engine, find_gpu(gpu))
    assert all(0 < getattr(pace, name) < 1 for name in SHARES)
    assert min(pace.kernel_s, pace.step_s, pace.sequence_s) > 0


def test_an_engine_that_was_not_measured_is_taken_for_vllm() -> None:
    assert serving_of("tgi") == serving_of("vllm")
    assert pace_of("tgi", find_gpu("h100-80gb")) == pace_of("vllm", find_gpu("h100-80gb"))
