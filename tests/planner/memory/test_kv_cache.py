"""Bytes per token and per sequence, against logs and the worked examples of an offer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.planner import models

from proa.domain.llm import GroupedAttention, LatentAttention, LayerGroup, LinearAttention, NoFeed
from proa.errors import InputError
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import (
    KvDtype,
    held_tokens,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    layer_state_bytes,
    parse_kv_dtype,
)
from proa.planner.memory.weights import bytes_of_parameters

EXAMPLE = models.dense(
    "30B",
    5120,
    151_936,
    layers=48,
    attention=GroupedAttention(heads=40, kv_heads=8, head_dim=128),
    feed=13_824,
)
GIB = 2**30


def test_the_worked_example() -> None:
    assert kv_bytes_per_token(EXAMPLE) == 196_608
    kv = [24 * kv_bytes_per_sequence(EXAMPLE, context * 1024) for context in (8, 16, 32)]
    assert [part / GIB for part in kv] == [36, 72, 144]
    weights = bytes_of_parameters(30 * 10**9, "bf16")
    assert [round((weights + part) / 1e9, 1) for part in kv] == [98.7, 137.3, 214.6]
    # the article adds GB of weights to GiB of cache: 96, 132, 204 of neither unit
    assert [weights / 1e9 + part / GIB for part in kv] == [96, 132, 204]


def test_few_kv_heads_are_replicated() -> None:
    # vLLM logs 48,128 B at TP4, and 48.1 kB at TP8 still
    on = [
        kv_bytes_per_token(models.QWEN3_235B, layout=LayoutSpec(tensor_parallel=t)) for t in (4, 8)
    ]
    assert on == [48_128, 48_128]


def test_latent_rows_lie_on_every_rank_whole() -> None:
    eight = LayoutSpec(tensor_parallel=8)
    assert kv_bytes_per_token(models.DEEPSEEK_R1, layout=eight) == 70_272
    apart = LayoutSpec(tensor_parallel=8, context_parallel=8)
    assert kv_bytes_per_token(models.DEEPSEEK_R1, layout=apart) == 70_272 / 8


def test_sparse_attention_keeps_the_indexers_key() -> None:
    # logged by vLLM: 78,325 B (DeepSeek-V3.2, bf16) and 43,190 B (fp8)
    sparse = LatentAttention(
        heads=128,
        q_lora_rank=1536,
        kv_lora_rank=512,
        rope_head_dim=64,
        nope_head_dim=128,
        value_dim=128,
        index_heads=64,
        index_head_dim=128,
        index_top_k=2048,
    )
    groups = tuple(replace(group, attention=sparse) for group in models.DEEPSEEK_R1.layers)
    llm = replace(models.DEEPSEEK_R1, layers=groups)
    assert kv_bytes_per_token(llm) == 61 * 1284
    assert kv_bytes_per_token(llm, KvDtype.FP8) == 61 * 708


@pytest.mark.parametrize(
    ("name", "share"),
    [("auto", 1), ("bfloat16", 1), ("fp8_e5m2", 0.5), ("int8", 0.5), ("nvfp4", 0.28125)],
)
def test_precisions(name: str, share: float) -> None:
    assert kv_bytes_per_token(EXAMPLE, parse_kv_dtype(name)) == 196_608 * share


def test_a_window_bounds_what_a_layer_holds() -> None:
    attention = GroupedAttention(heads=8, kv_heads=8, head_dim=64, window=128)
    assert [held_tokens(attention, n) for n in (0, 1, 100, 128, 10_000)] == [0, 16, 112, 128, 144]


def test_a_state_does_not_grow() -> None:
    linear = LinearAttention(
        form="mamba2",
        value_heads=64,
        key_heads=8,
        head_dim=64,
        state_dim=128,
        conv_kernel=4,
        conv_dim=6144,
        state_dtype="float32",
    )
    llm = replace(EXAMPLE, layers=(LayerGroup(count=2, attention=linear, feed=NoFeed()),))
    state = 64 * 64 * 128 * 4 + 3 * 6144 * 2
    assert layer_state_bytes(linear) == state
    assert {kv_bytes_per_sequence(llm, n, KvDtype.FP8) for n in (1, 1000)} == {2 * state}
    assert kv_bytes_per_token(llm) == 0


def test_layers_that_share_a_cache_hold_none() -> None:
    group = EXAMPLE.layers[0]
    shared = GroupedAttention(heads=40, kv_heads=8, head_dim=128, shares_kv=True)
    half = replace(
        EXAMPLE, layers=(replace(group, count=24), replace(group, count=24, attention=shared))
    )
    assert kv_bytes_per_token(half) == 196_608 / 2


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_context_never_takes_less(first: int, second: int) -> None:
    low, high = sorted((first, second))
    assert kv_bytes_per_sequence(EXAMPLE, low) <= kv_bytes_per_sequence(EXAMPLE, high)
    assert kv_bytes_per_sequence(EXAMPLE, low) >= low * 196_608


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="context_tokens = -1"):
        kv_bytes_per_sequence(EXAMPLE, -1)
    with pytest.raises(InputError, match="kv_dtype = 'fp3': accepted is auto, bf16"):
        parse_kv_dtype("fp3")
