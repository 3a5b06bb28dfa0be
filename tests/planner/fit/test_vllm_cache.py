"""Groups, pages and blocks against what vLLM logged for windows and states."""

import pytest
from tests.planner import models
from tests.planner.engine_starts import start

from proa.catalog.models import find_model
from proa.domain.llm import LlmSpec
from proa.errors import InputError
from proa.planner.fit.profiles import nearest
from proa.planner.fit.vllm_cache import Asked, CachePool, cache_dtype, cache_pool
from proa.planner.fit.vllm_versions import VLLM_VERSIONS, VllmVersion
from proa.planner.layout import pipeline_stages
from proa.planner.memory.kv_cache import KvDtype

GIB = 2**30


def version_of(text: str) -> VllmVersion:
    return nearest(VLLM_VERSIONS, text)[1]


def pool_of(
    llm: LlmSpec, asked: Asked, version: str = "0.19.0", *, tp: int = 1, kv: str = "auto"
) -> CachePool:
    spec = start("vllm", "h200-141gb", llm, tp=tp, kv_dtype=KvDtype(kv))
    (stage,) = pipeline_stages(spec.llm, spec.layout)
    return cache_pool(spec, stage, asked, version_of(version))


def test_one_group_where_all_layers_keep_all() -> None:
    asked = Asked(8192, 8192, 0)
    pool = pool_of(models.LLAMA_70B, asked, tp=4)
    assert pool.page_bytes == 16 * 81_920
    # H100, vLLM 0.19.0: 54.09 GiB gave 44,312 blocks and 708,992 tokens
    blocks = pool.blocks(round(54.09 * GIB))
    assert blocks == pytest.approx(44_312, abs=4)
    assert pool.printed_tokens(44_312, asked, version_of("0.19.0")) == 708_992
    assert pool.concurrency(44_312) == pytest.approx(86.55, abs=0.005)


def test_windows_share_the_pool() -> None:
    # gemma-4-31B-it on H200, vLLM 0.19.1: 65.56 GiB, 71,600 tokens, 9.52x of 8,192
    asked = Asked(8192, 8192, 0)
    pool = pool_of(find_model("google/gemma-4-31B-it"), asked)
    assert [group.layers for group in pool.groups] == [10] * 6
    assert sorted({group.block_tokens for group in pool.groups}) == [16, 32]
    blocks = pool.blocks(round(65.56 * GIB))
    assert pool.printed_tokens(blocks, asked, version_of("0.19.0")) == 71_600
    assert pool.concurrency(blocks) == pytest.approx(9.52, abs=0.005)


@pytest.mark.parametrize(
    ("length", "version", "tokens", "concurrency"),
    [(8192, "0.13.0", 6_506_208, 1299.0), (10_000, "0.13.0", 6_506_208, 1113.43)],
)
def test_states_stretch_the_blocks(
    length: int, version: str, tokens: int, concurrency: float
) -> None:
    # Nemotron-3-Nano FP8 on H200: 93.13 GiB, attention blocks of 4,176 tokens
    asked = Asked(length, 8192, 0)
    nano = find_model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8")
    pool = pool_of(nano, asked, version, kv="fp8")
    assert min(group.block_tokens for group in pool.groups) == 4176
    assert [group.layers for group in pool.groups].count(6) == 4
    blocks = 7794
    assert pool.printed_tokens(blocks, asked, version_of(version)) == tokens
    assert pool.concurrency(blocks) == pytest.approx(concurrency, abs=0.01)
    assert pool.blocks(round(93.13 * GIB)) == pytest.approx(blocks, abs=2)
    assert pool.padding_share == pytest.approx(1 / 30)


def test_a_block_longer_than_the_context_counts_as_it() -> None:
    # Nemotron-3-Super FP8, TP2 on H200: blocks of 8,320; the line says 5,562,368 at 8,192
    llm = find_model("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8")
    short = pool_of(llm, Asked(8192, 8192, 0), "0.17.1", tp=2, kv="fp8")
    long = pool_of(llm, Asked(10_000, 8192, 0), "0.17.1", tp=2, kv="fp8")
    assert min(group.block_tokens for group in short.groups) == 8192
    assert min(group.block_tokens for group in long.groups) == 8320


def test_gated_delta_layers() -> None:
    # Qwen3.5-122B-A10B on H200 TP2, vLLM 0.18: 62.77 GiB, 1,370,784 tokens, 373.71x of 8,192
    asked = Asked(8192, 8192, 0)
    pool = pool_of(find_model("Qwen/Qwen3.5-122B-A10B"), asked, "0.18.0", tp=2)
    blocks = pool.blocks(round(62.77 * GIB))
    assert pool.printed_tokens(blocks, asked, version_of("0.18.0")) == 1_370_784
    assert pool.concurrency(blocks) == pytest.approx(373.71, abs=0.01)


def test_fp8_saves_nothing_of_states() -> None:
    llm = find_model("Qwen/Qwen3.5-122B-A10B")
    plain, small = (
        pool_of(llm, Asked(8192, 8192, 0), "0.18.0", tp=2, kv=kv) for kv in ("auto", "fp8")
    )
    kept = 60 * GIB
    gain = small.concurrency(small.blocks(kept)) / plain.concurrency(plain.blocks(kept))
    assert 1 <= gain < 1.5


def test_draft_layers_join_the_last_kind_that_keeps_all() -> None:
    llm = find_model("Qwen/Qwen3.5-122B-A10B")
    with_draft = pool_of(llm, Asked(8192, 8192, 2), "0.24.0", tp=2)
    without = pool_of(llm, Asked(8192, 8192, 0), "0.24.0", tp=2)
    assert with_draft.blocks_per_sequence > without.blocks_per_sequence


def test_auto_is_what_a_checkpoint_has_scales_for() -> None:
    llm = find_model("nvidia/Llama-3.1-70B-Instruct-FP8")
    plain = find_model("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic")
    rows = [
        cache_dtype(start("vllm", "h100-80gb", model), version_of(version))
        for model, version in ((llm, "0.19.0"), (llm, "0.11.2"), (plain, "0.19.0"))
    ]
    assert rows == [KvDtype.FP8, KvDtype.AUTO, KvDtype.AUTO]
    asked = start("vllm", "h100-80gb", llm, kv_dtype=KvDtype.BF16)
    assert cache_dtype(asked, version_of("0.19.0")) is KvDtype.BF16


def test_a_stage_that_keeps_nothing() -> None:
    nano = find_model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8")
    bare = [group for group in nano.layers if group.attention.__struct_config__.tag == "none"]
    with pytest.raises(InputError, match="no layer that keeps a cache"):
        pool_of(
            LlmSpec(
                id="bare", architecture="", hidden=64, vocab=64, layers=tuple(bare), max_context=1
            ),
            Asked(1, 1, 0),
        )
