"""What single layers cost."""

import pytest

from proa.catalog.models import find_model
from proa.planner.layout import LayoutSpec
from proa.planner.speed.layer_work import layer_kernels, moved_bytes

EIGHT, DEEPSEEK = find_model("Qwen/Qwen3-8B"), find_model("deepseek-ai/DeepSeek-V3")


def test_layers_with_experts_launch_more() -> None:
    dense, experts = DEEPSEEK.layers
    assert layer_kernels(EIGHT.layers[0]) < layer_kernels(dense) < layer_kernels(experts)


def test_sparse_attention_launches_most() -> None:
    sparse = find_model("zai-org/GLM-5").layers[-1]
    assert layer_kernels(sparse) == pytest.approx(layer_kernels(DEEPSEEK.layers[-1]) + 35.2)


def test_moves_of_a_dense_layer() -> None:
    # 36 x (4 x 4096 + 1.5 x (32 + 2 x 8) x 128 + 2 x 12288) x 2 bytes
    assert moved_bytes(EIGHT, LayoutSpec()) == pytest.approx(36 * (16384 + 9216 + 24576) * 2)


def test_slices_of_experts_move_each_copy_whole_and_whole_experts_do_not() -> None:
    sliced = moved_bytes(DEEPSEEK, LayoutSpec(tensor_parallel=8))
    whole = moved_bytes(DEEPSEEK, LayoutSpec(tensor_parallel=8, expert_parallel=True))
    assert whole < sliced < moved_bytes(DEEPSEEK, LayoutSpec())
