import msgspec
import pytest
from tests.planner.placed_models import H100, QWEN3_8B, QWEN3_NEXT, RTX_4090

from proa.domain.llm import LlmSpec
from proa.planner.explore.memory import HeldSessions
from proa.planner.fit.spec import FitSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.place.replica import held_sessions

CONTEXTS = (8192, 16384, 20000, 32768, 131072)
SIZES = (40, 64, 79.19, 139.8, 178, 267)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llamacpp"])
@pytest.mark.parametrize("llm", [QWEN3_8B, QWEN3_NEXT], ids=["full", "hybrid"])
def test_what_other_gpus_showed_says_the_same_as_asking(llm: LlmSpec, engine: str) -> None:
    held = HeldSessions(CONTEXTS, 0.1)
    gpus = [msgspec.structs.replace(H100, usable_bytes=int(size * 2**30)) for size in SIZES]
    for gpu in (*gpus, RTX_4090):
        for kv_dtype in (KvDtype.AUTO, KvDtype.INT8):
            start = FitSpec(llm=llm, gpu=gpu, engine=engine, kv_dtype=kv_dtype)
            asked = [msgspec.structs.replace(start, max_model_len=each) for each in CONTEXTS]
            assert held.of(start) == [held_sessions(each, 0.1)[1] for each in asked]


def test_a_start_that_is_refused_holds_nothing() -> None:
    start = FitSpec(llm=QWEN3_8B, gpu=H100, gpu_memory_utilization=7.0)
    assert HeldSessions((8192, 16384), 0.0).of(start) == [0, 0]
