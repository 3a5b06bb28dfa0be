"""What single layers cost in a pass: launches, moves between products, cache, attention."""

from functools import lru_cache

from proa.domain.llm import (
    DenseFeed,
    ExpertFeed,
    GroupedAttention,
    LatentAttention,
    LayerGroup,
    LinearAttention,
    LlmSpec,
    NoAttention,
    NoFeed,
)
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import KvDtype, layer_kv_bytes, layer_state_bytes

_REMEMBERED = 4096
"""Models x layouts whose counts are kept: a search asks for each on many GPUs."""

_NUMBER_BYTES = 2
_SPARSE_KERNELS = 35.2
_EXPERT_KERNELS = 17.2


def layer_kernels(group: LayerGroup) -> float:
    """Kernels that one layer launches and waits for, as if all were alike.

    grouped 5, linear 8, latent 12, sparse latent 35.2 more; dense feed 4, experts 17.2.

    Source:
        The first three by count (norm, projections, rope, cache write, attention, out), that of
        the indexer and of routed experts fitted: their kernels are many and their ends uneven.
    """
    return _attention_kernels(group) + _feed_kernels(group)


def _attention_kernels(group: LayerGroup) -> float:
    attention = group.attention
    if isinstance(attention, LatentAttention):
        return 12.0 + (_SPARSE_KERNELS if attention.index_head_dim else 0.0)
    if isinstance(attention, LinearAttention):
        return 8.0
    return 0.0 if isinstance(attention, NoAttention) else 5.0


def _feed_kernels(group: LayerGroup) -> float:
    if isinstance(group.feed, ExpertFeed):
        return _EXPERT_KERNELS
    return 0.0 if isinstance(group.feed, NoFeed) else 4.0


@lru_cache(_REMEMBERED)
def moved_bytes(llm: LlmSpec, layout: LayoutSpec) -> float:
    """Bytes that a token's numbers are read and written between products, on one GPU.

    A layer moves 4 rows of the model's width, 1.5 of what attention works on, 2 of the
    feed-forward's; each expert's copy of a token 2 rows of both widths.
    """
    numbers = 0.0
    for group in llm.layers:
        width = 4.0 * llm.hidden + _attention_moves(group, layout) + _feed_moves(llm, group, layout)
        numbers += group.count * width
    return numbers * _NUMBER_BYTES


def _attention_moves(group: LayerGroup, layout: LayoutSpec) -> float:
    a, split = group.attention, layout.tensor_parallel
    if isinstance(a, GroupedAttention):
        return 1.5 * (a.heads + 2 * a.kv_heads) * a.head_dim / split
    if isinstance(a, LatentAttention):
        heads = 1.5 * a.heads * (a.nope_head_dim + a.rope_head_dim + 2 * a.value_dim) / split
        return heads + 2.0 * ((a.q_lora_rank or 0) + a.kv_lora_rank)
    if isinstance(a, LinearAttention):
        return 3.0 * (a.conv_dim + a.value_heads * a.head_dim) / split
    return 0.0


def _feed_moves(llm: LlmSpec, group: LayerGroup, layout: LayoutSpec) -> float:
    feed, split = group.feed, layout.tensor_parallel
    if isinstance(feed, DenseFeed):
        return 2.0 * feed.intermediate / split
    if not isinstance(feed, ExpertFeed):
        return 0.0
    if layout.expert_parallel:
        copies = feed.experts_per_token / split * 2.0 * (llm.hidden + feed.intermediate)
    else:
        copies = feed.experts_per_token * 2.0 * (llm.hidden + feed.intermediate / split)
    return copies + 2.0 * feed.shared_intermediate / split


@lru_cache(_REMEMBERED)
def cache_bytes(
    llm: LlmSpec, layout: LayoutSpec, kv_dtype: KvDtype
) -> tuple[float, float, float, float]:
    """(per token of context, per token of a window, the windows' mean, per sequence)."""
    full = window = reach = state = 0.0
    for group in llm.layers:
        attention = group.attention
        row = group.count * layer_kv_bytes(
            attention, kv_dtype, tensor_parallel=layout.tensor_parallel
        )
        row /= layout.context_parallel
        state += (
            2 * group.count * layer_state_bytes(attention, tensor_parallel=layout.tensor_parallel)
        )
        if isinstance(attention, GroupedAttention) and attention.window:
            window += row
            reach += row * attention.window
        elif isinstance(attention, LatentAttention) and attention.index_top_k:
            index = group.count * (attention.index_head_dim + 4)
            full += index
            window += row - index
            reach += (row - index) * attention.index_top_k
        else:
            full += row
    return full, window, reach / window if window else 0.0, state


@lru_cache(_REMEMBERED)
def attention_flops(llm: LlmSpec, layout: LayoutSpec) -> tuple[float, float]:
    """FLOPs of a prompt token per token that it sees: 2 heads x (K + V dimension)."""
    full = window = 0.0
    for group in llm.layers:
        attention = group.attention
        if isinstance(attention, GroupedAttention):
            width = attention.head_dim + (attention.value_dim or attention.head_dim)
            flops = 2.0 * group.count * attention.heads * width / layout.tensor_parallel
            if attention.window:
                window += flops
            else:
                full += flops
        elif isinstance(attention, LatentAttention):
            width = attention.nope_head_dim + attention.rope_head_dim + attention.value_dim
            flops = 2.0 * group.count * attention.heads * width / layout.tensor_parallel
            if attention.index_top_k:
                window += flops
                full += 2.0 * group.count * attention.index_heads * attention.index_head_dim
            else:
                full += flops
    return full, window
