"""What GPUs of a replica say to each other."""

import pytest

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.planner.layout import LayoutSpec
from proa.planner.speed.link_work import talk
from proa.planner.speed.links import find_link

H100 = find_gpu("h100-80gb")
EIGHT, DEEPSEEK = find_model("Qwen/Qwen3-8B"), find_model("deepseek-ai/DeepSeek-V3")
NVLINK, SLOW = find_link("nvlink", H100), find_link("1gbe", H100)


def test_two_all_reduces_a_layer() -> None:
    hops, _, token_s = talk(EIGHT, LayoutSpec(tensor_parallel=2), NVLINK, NVLINK)
    assert hops == 2 * 36
    assert token_s == pytest.approx(72 * 4096 * 2 / NVLINK.bytes_per_s)


def test_stages_say_one_row_each_over_their_own_link() -> None:
    layout = LayoutSpec(tensor_parallel=8, pipeline_parallel=2)
    hops, _, slow = talk(EIGHT, layout, NVLINK, SLOW)
    _, _, fast = talk(EIGHT, layout, NVLINK, NVLINK)
    assert hops == 2 * 36 + 2
    assert slow - fast == pytest.approx(4096 * 2 * (1 / SLOW.bytes_per_s - 1 / NVLINK.bytes_per_s))


def test_data_parallel_attention_sends_tokens_to_experts() -> None:
    hops, hop_s, token_s = talk(
        DEEPSEEK, LayoutSpec(data_parallel=8, expert_parallel=True), NVLINK, NVLINK
    )
    assert hops == 2 * 58
    assert hop_s > NVLINK.latency_s
    assert token_s > 0


def test_a_slow_link_costs_more_than_the_gpus_gain() -> None:
    layout = LayoutSpec(tensor_parallel=2)
    hops, hop_s, _ = talk(EIGHT, layout, SLOW, SLOW)
    weights_s = 15e9 / H100.memory_bytes_per_s
    assert hops * hop_s > weights_s / 2
