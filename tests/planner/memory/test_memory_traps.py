"""Traps that planners of memory fall into, each with the number that shows it."""

import pytest
from msgspec.structs import replace
from tests.planner.engine_starts import start

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitPlan
from proa.planner.memory.kv_cache import KvDtype

GIB = 2**30


def plan(model: str, gpu: str, version: str, *, tp: int = 1, **flags: object) -> FitPlan:
    return fit(
        replace(start("vllm", gpu, find_model(model), tp=tp, **flags), engine_version=version)
    )


def test_gpu_kv_cache_size_changed_its_meaning() -> None:
    # vllm-project/vllm issues 40691 and 51041
    old = plan("google/gemma-4-31B-it", "h200-141gb", "0.19.0", max_model_len=8192)
    new = plan("google/gemma-4-31B-it", "h200-141gb", "0.21.0", max_model_len=8192)
    long = plan("google/gemma-4-31B-it", "h200-141gb", "0.21.0", max_model_len=131_072)
    assert old.kv_cache_tokens != old.plannable_tokens
    assert new.kv_cache_tokens == new.plannable_tokens
    assert long.kv_cache_tokens > 3 * new.kv_cache_tokens
    assert long.kv_cache_bytes == new.kv_cache_bytes
    assert old.kv_cache_bytes != new.kv_cache_bytes  # graphs, and another default share


@pytest.mark.parametrize(("version", "share"), [("0.19.0", 0.90), ("0.20.0", 0.92), ("0.21", 0.92)])
def test_the_default_utilisation_rose(version: str, share: float) -> None:
    found = plan("Qwen/Qwen3-8B", "h100-80gb", version)
    assert found.requested_bytes == int(share * found.gpu_bytes)


def test_graphs_count_against_the_cache_since_0_21() -> None:
    for version, counted in (("0.19.0", False), ("0.21.0", True)):
        found = plan("Qwen/Qwen3-8B", "h100-80gb", version, gpu_memory_utilization=0.9)
        rest = found.requested_bytes - found.weights_bytes - found.kv_cache_bytes
        graphs = rest - found.activation_bytes - found.non_torch_bytes
        assert graphs == (found.cuda_graph_bytes if counted else 0)
        assert any("on top" in warning.en for warning in found.warnings) is not counted


def test_the_activation_reserve_fell_at_0_17() -> None:
    # Qwen3-14B on an H100: 5.64 GiB, then 2.23
    before, after = (
        plan("Qwen/Qwen3-14B", "h100-80gb", version).activation_bytes / GIB
        for version in ("0.16.0", "0.17.0")
    )
    assert before == pytest.approx(5.64, abs=0.1)
    assert after == pytest.approx(2.23, abs=0.1)


def test_gemma_4_on_one_card() -> None:
    # vllm-project/vllm issue 43308: about 55k tokens, then about 525k
    old, new = (
        plan("cyankiwi/gemma-4-31B-it-AWQ-4bit", "a100-80gb", version, gpu_memory_utilization=0.9)
        for version in ("0.20.0", "0.21.0")
    )
    assert old.kv_cache_tokens == pytest.approx(55_000, rel=0.05)
    assert new.kv_cache_tokens == pytest.approx(525_000, rel=0.05)


def test_auto_stays_bf16_for_fp8_checkpoints() -> None:
    auto = plan("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "mi300x-192gb", "0.13.0")
    small = plan(
        "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
        "mi300x-192gb",
        "0.13.0",
        kv_dtype=KvDtype.FP8,
    )
    assert auto.kv_bytes_per_token == 327_680
    assert small.kv_cache_tokens == pytest.approx(2 * auto.kv_cache_tokens, rel=0.001)


@pytest.mark.parametrize(
    ("gpu", "gib"),
    [
        ("h100-80gb", 79.19),
        ("h200-141gb", 139.8),
        ("rtx-5090-32gb", 31.36),
        ("rtx-3090-24gb", 23.57),
        ("rtx-pro-6000-96gb", 94.97),
        ("a100-40gb", 39.50),
    ],
)
def test_a_driver_reports_less_than_the_data_sheet(gpu: str, gib: float) -> None:
    assert find_gpu(gpu).usable_bytes / GIB == pytest.approx(gib, abs=0.02)
