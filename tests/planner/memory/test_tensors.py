"""Counts of parameters against those that the hub publishes (safetensors index)."""

import pytest
from tests.planner import models

from proa.domain.llm import GroupedAttention, LlmSpec
from proa.planner.layout import LayoutSpec
from proa.planner.memory.tensor import Role
from proa.planner.memory.tensors import (
    active_parameter_count,
    all_tensors,
    is_quantised,
    outer_tensors,
    parameter_count,
)


@pytest.mark.parametrize(
    ("llm", "published"),
    [
        (models.QWEN3_8B, 8_190_735_360),
        (models.QWEN25_7B, 7_615_616_512),
        (models.LLAMA_70B, 70_553_706_496),
        (models.QWEN3_235B, 235_093_634_560),
        (models.DEEPSEEK_R1, 671_026_404_352),
    ],
    ids=lambda value: value.id if isinstance(value, LlmSpec) else "",
)
def test_counts_are_the_published_ones(llm: LlmSpec, published: int) -> None:
    assert parameter_count(llm) == published


def test_only_chosen_experts_are_active() -> None:
    # "37B activated", DeepSeek-V3 technical report, arXiv:2412.19437; "22B", Qwen3's name
    assert active_parameter_count(models.DEEPSEEK_R1) == pytest.approx(37e9, rel=0.02)
    assert active_parameter_count(models.QWEN3_235B) == pytest.approx(22e9, rel=0.02)


def test_kv_heads_are_replicated_beyond_their_number() -> None:
    key = next(t for t, _ in all_tensors(models.QWEN3_235B) if t.name == "k")
    on = {tp: key.parameters_per_gpu(LayoutSpec(tensor_parallel=tp)) for tp in (1, 2, 4, 8)}
    assert on == {1: 4 * 128 * 4096, 2: 2 * 128 * 4096, 4: 128 * 4096, 8: 128 * 4096}


def test_experts_are_sliced_or_dealt_out() -> None:
    up = next(t for t, _ in all_tensors(models.QWEN3_235B) if t.role is Role.EXPERT)
    sliced = up.parameters_per_gpu(LayoutSpec(tensor_parallel=4))
    dealt = up.parameters_per_gpu(LayoutSpec(tensor_parallel=4, expert_parallel=True))
    assert sliced == dealt == up.parameters // 4
    spread = LayoutSpec(tensor_parallel=4, data_parallel=2, expert_parallel=True)
    assert up.parameters_per_gpu(spread) == up.parameters // 8


def test_the_vocabulary_is_padded() -> None:
    llm = models.dense(
        "odd",
        64,
        1001,
        layers=1,
        attention=GroupedAttention(heads=1, kv_heads=1, head_dim=64),
        feed=64,
    )
    head = next(t for t in outer_tensors(llm) if t.role is Role.HEAD)
    assert head.parameters == 1024 * 64
    assert parameter_count(llm) < sum(t.parameters * n for t, n in all_tensors(llm))


def test_norms_routers_and_embeddings_stay_as_they_are() -> None:
    kept = {
        tensor.role
        for tensor, _ in all_tensors(models.DEEPSEEK_R1)
        if not is_quantised(tensor, models.DEEPSEEK_R1.quantization)
    }
    assert kept == {Role.EMBEDDING, Role.HEAD, Role.NORM, Role.ROUTER}
