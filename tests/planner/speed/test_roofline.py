"""What a pass costs at the roof of a data sheet."""

import pytest

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.domain.llm import LlmSpec, WeightFormat
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.memory.tensors import active_parameter_count
from proa.planner.memory.weights import weights_bytes, with_precision
from proa.planner.speed.links import find_link
from proa.planner.speed.roofline import peak_flops, work_of
from proa.planner.speed.step_formula import Work

H100 = find_gpu("h100-80gb")
EIGHT = find_model("Qwen/Qwen3-8B")
DEEPSEEK = find_model("deepseek-ai/DeepSeek-V3")
OSS = find_model("openai/gpt-oss-120b")


def work(llm: LlmSpec, **layout: int | bool) -> Work:
    return work_of(
        llm,
        H100,
        LayoutSpec(**layout),  # type: ignore[arg-type]
        link=find_link(None, H100),
        kv_dtype=KvDtype.AUTO,
    )


def test_all_weights_but_the_embedding_are_read() -> None:
    found = work(EIGHT)
    embedding = EIGHT.vocab * EIGHT.hidden * 2
    read = (found.dense_read_s + found.expert_read_s) * H100.memory_bytes_per_s
    assert read == pytest.approx(weights_bytes(EIGHT) - embedding, rel=0.01)


def test_a_token_makes_two_flops_per_active_number() -> None:
    for llm in (EIGHT, with_precision(DEEPSEEK, "bf16")):
        found = work(llm)
        flops = (found.token_math_s + found.expert_math_s) * H100.flops["bf16"]
        assert flops == pytest.approx(2 * active_parameter_count(llm), rel=0.01)


def test_cache_of_a_grouped_model() -> None:
    # 36 layers x 8 heads x (128 + 128) x 2 bytes = 147,456 B per token
    read = work(EIGHT).kv_read_s * H100.memory_bytes_per_s
    assert read == pytest.approx(147_456)


def test_latent_cache_is_not_split_and_grouped_is() -> None:
    assert work(DEEPSEEK, tensor_parallel=8).kv_read_s == work(DEEPSEEK).kv_read_s
    assert work(EIGHT, tensor_parallel=8).kv_read_s == pytest.approx(work(EIGHT).kv_read_s / 8)


def test_half_of_the_layers_look_back_128_tokens() -> None:
    found = work(OSS)
    assert found.window_read_s == pytest.approx(found.kv_read_s)
    assert found.window_tokens == 128


def test_sparse_attention_reads_its_indexer_everywhere_and_the_cache_where_it_looks() -> None:
    found = work(find_model("zai-org/GLM-5"), tensor_parallel=8)
    assert found.window_tokens == 2048
    assert 0 < found.kv_read_s < found.window_read_s


def test_experts_lie_on_all_ranks_and_meet_all_tokens() -> None:
    one, wide = work(DEEPSEEK), work(DEEPSEEK, data_parallel=8, expert_parallel=True)
    assert wide.expert_read_s == pytest.approx(one.expert_read_s / 8)
    assert wide.expert_math_s == pytest.approx(one.expert_math_s)
    assert wide.expert_share == pytest.approx(1 - (1 - 8 / 256) ** 8)


def test_one_gpu_talks_to_nobody_and_eight_twice_a_layer() -> None:
    assert (work(EIGHT).hops, work(EIGHT).token_link_s) == (0, 0)
    assert work(EIGHT, tensor_parallel=8).hops == 72


def test_a_format_without_hardware_is_unpacked() -> None:
    assert peak_flops(H100, WeightFormat.NVFP4) == H100.flops["bf16"]
    assert peak_flops(H100, WeightFormat.FP8) == H100.flops["fp8"]
    assert peak_flops(find_gpu("a100-80gb"), WeightFormat.FP8) == 312e12
