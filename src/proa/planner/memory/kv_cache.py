"""Bytes of context: what attention layers keep per token, and linear ones per sequence."""

from enum import StrEnum
from functools import lru_cache
from math import ceil

from proa.domain.llm import Attention, GroupedAttention, LatentAttention, LinearAttention, LlmSpec
from proa.errors import InputError
from proa.planner.layout import LayoutSpec, pipeline_stages

BLOCK_TOKENS = 16
"""Tokens of one cache block where an engine does not say otherwise."""

_REMEMBERED = 4096
"""Answers that are kept: a search asks for each layout once per GPU."""

_SPARSE_FP8_BYTES = 656
_INDEX_SCALE_BYTES = 4
_INDEX_SCALE_GROUP = 128


class KvDtype(StrEnum):
    """How cached numbers are kept; `auto` is the model's own type, bf16 for fp8 weights too."""

    AUTO = "auto"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"
    NVFP4 = "nvfp4"
    FP8_DS_MLA = "fp8_ds_mla"


_BYTES = {
    KvDtype.AUTO: 2.0,
    KvDtype.BF16: 2.0,
    KvDtype.FP8: 1.0,
    KvDtype.INT8: 1.0,
    KvDtype.NVFP4: 0.5 + 1 / 16,
    KvDtype.FP8_DS_MLA: 1.0,
}
_NAMES = {
    "": KvDtype.AUTO,
    "bfloat16": KvDtype.BF16,
    "float16": KvDtype.BF16,
    "fp16": KvDtype.BF16,
    "f16": KvDtype.BF16,
    "half": KvDtype.BF16,
    "fp8_e4m3": KvDtype.FP8,
    "fp8_e5m2": KvDtype.FP8,
    "fp8_inc": KvDtype.FP8,
    "int8_per_token_head": KvDtype.INT8,
    "fp4_e2m1": KvDtype.NVFP4,
}


def parse_kv_dtype(text: str | None) -> KvDtype:
    """The type that an engine's flag names.

    Raises:
        InputError: no such type.
    """
    name = (text or "").strip().lower()
    if name in _NAMES:
        return _NAMES[name]
    try:
        return KvDtype(name)
    except ValueError:
        accepted = ", ".join([*KvDtype, *sorted(filter(None, _NAMES))])
        raise InputError(f"kv_dtype = {text!r}: accepted is {accepted}") from None


def layer_kv_bytes(
    attention: Attention, kv_dtype: KvDtype = KvDtype.AUTO, *, tensor_parallel: int = 1
) -> float:
    """Bytes that one layer keeps on one GPU per cached token.

    grouped: kv heads per GPU x (K + V dimension) x bytes. Heads are replicated, not split, once
    `tensor_parallel` exceeds their number.
    latent: (kv_lora_rank + rope_head_dim) x bytes, on every GPU whole; sparse adds the indexer's
    key in fp8 and its scale, and keeps 656 B in fp8 (512 fp8, 4 fp32 scales, 64 bf16).
    linear, none, and layers that read another's cache: 0.

    Source:
        vLLM, vllm/v1/kv_cache_interface.py, AttentionSpec and MLAAttentionSpec.
    """
    if isinstance(attention, GroupedAttention) and not attention.shares_kv:
        heads = ceil(attention.kv_heads / tensor_parallel)
        return (
            heads
            * (attention.head_dim + (attention.value_dim or attention.head_dim))
            * (_BYTES[kv_dtype])
        )
    if isinstance(attention, LatentAttention):
        return _latent_bytes(attention, kv_dtype)
    return 0.0


def kv_bytes_per_token(
    llm: LlmSpec, kv_dtype: KvDtype = KvDtype.AUTO, *, layout: LayoutSpec | None = None
) -> float:
    """Cache that one more token takes on the fullest GPU while all windows still hold it.

    bytes = sum over layers of `layer_kv_bytes`; all sequences of an engine share it.

    Not modelled:
        block rounding and windows (see `kv_bytes_per_sequence`), states of linear layers.
    """
    return _token_bytes(llm, kv_dtype, layout or LayoutSpec())


@lru_cache(_REMEMBERED)
def _token_bytes(llm: LlmSpec, kv_dtype: KvDtype, layout: LayoutSpec) -> float:
    rows = [
        layer_kv_bytes(group.attention, kv_dtype, tensor_parallel=layout.tensor_parallel)
        for group in llm.layers
    ]
    per_stage = (
        sum(count * row for count, row in zip(stage.counts, rows, strict=True))
        for stage in pipeline_stages(llm, layout)
    )
    return max(per_stage) / layout.context_parallel


def kv_bytes_per_sequence(
    llm: LlmSpec,
    tokens: int,
    kv_dtype: KvDtype = KvDtype.AUTO,
    *,
    layout: LayoutSpec | None = None,
    block_tokens: int = BLOCK_TOKENS,
) -> int:
    """Cache of one sequence of `tokens` tokens of context on the fullest GPU.

    Whole blocks are taken; a window keeps what it looks back on, and one block more for where
    it starts within one; linear layers add their state, which does not grow.

    Raises:
        InputError: negative `tokens`.
    """
    if tokens < 0:
        raise InputError(f"context_tokens = {tokens}: accepted is 0 or more")
    layout = layout or LayoutSpec()
    rows = []
    for group in llm.layers:
        held = held_tokens(group.attention, tokens, block_tokens)
        row = held * layer_kv_bytes(
            group.attention, kv_dtype, tensor_parallel=layout.tensor_parallel
        )
        state = layer_state_bytes(group.attention, tensor_parallel=layout.tensor_parallel)
        rows.append(row / layout.context_parallel + (state if tokens else 0))
    per_stage = (
        sum(count * row for count, row in zip(stage.counts, rows, strict=True))
        for stage in pipeline_stages(llm, layout)
    )
    return ceil(max(per_stage))


def held_tokens(attention: Attention, tokens: int, block_tokens: int = BLOCK_TOKENS) -> int:
    """Tokens of whole blocks that a layer keeps of a sequence."""
    whole = ceil(tokens / block_tokens) * block_tokens
    if isinstance(attention, GroupedAttention) and attention.window:
        most = (ceil(attention.window / block_tokens) + 1) * block_tokens
        return min(whole, most)
    return whole


def layer_state_bytes(attention: Attention, *, tensor_parallel: int = 1) -> int:
    """State of one linear layer for one sequence on one GPU; 0 for other layers.

    bytes = value_heads x head_dim x state_dim x bytes + (conv_kernel - 1) x conv_dim x 2

    Both are split by tensor parallelism. The state is fp32 where the model says so, else bf16,
    whatever the KV precision.
    """
    if not isinstance(attention, LinearAttention):
        return 0
    numbers = attention.value_heads * attention.head_dim * attention.state_dim
    width = 4 if attention.state_dtype in ("float32", "fp32") else 2
    convolution = (attention.conv_kernel - 1) * attention.conv_dim * 2
    return ceil(numbers * width / tensor_parallel) + ceil(convolution / tensor_parallel)


def _latent_bytes(attention: LatentAttention, kv_dtype: KvDtype) -> float:
    width = attention.kv_lora_rank + attention.rope_head_dim
    row = width * _BYTES[kv_dtype]
    if not attention.index_head_dim:
        return _SPARSE_FP8_BYTES if kv_dtype is KvDtype.FP8_DS_MLA else row
    scales = attention.index_head_dim // _INDEX_SCALE_GROUP * _INDEX_SCALE_BYTES
    indexer = attention.index_head_dim + scales
    if kv_dtype in (KvDtype.FP8, KvDtype.FP8_DS_MLA):
        return indexer + width
    return indexer + row
