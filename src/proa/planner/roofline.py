"""What a pass through a model costs one GPU at the roof of its data sheet."""

from collections.abc import Iterator
from functools import lru_cache

from proa.domain.gpu import GpuSpec
from proa.domain.llm import (
    ExpertFeed,
    GroupedAttention,
    LatentAttention,
    LayerGroup,
    LinearAttention,
    LlmSpec,
    NoAttention,
    NoFeed,
    WeightFormat,
)
from proa.planner.kv_cache import KvDtype, layer_kv_bytes, layer_state_bytes
from proa.planner.layer_tensors import layer_tensors
from proa.planner.layout import LayoutSpec
from proa.planner.links import (
    LinkSpec,
    all_reduce_hop_s,
    all_reduce_s_per_byte,
    all_to_all_s_per_byte,
)
from proa.planner.step_formula import Work
from proa.planner.tensor import Role, Tensor
from proa.planner.tensors import is_quantised, outer_tensors
from proa.planner.weights import bits_per_weight

_ACTIVATION_BYTES = 2
_REMEMBERED = 4096
"""Models x layouts whose counts are kept: a search asks for each on many GPUs."""
_FORMAT_FLOPS = {
    WeightFormat.FP8: ("fp8", "bf16"),
    WeightFormat.INT8: ("int8", "bf16"),
    WeightFormat.NVFP4: ("fp4", "bf16"),
    WeightFormat.MXFP4: ("fp4", "bf16"),
}


def work_of(
    llm: LlmSpec,
    gpu: GpuSpec,
    layout: LayoutSpec,
    *,
    link: LinkSpec,
    kv_dtype: KvDtype,
    stage_link: LinkSpec | None = None,
) -> Work:
    """The work of one rank; pipeline stages are passed one after another, so all layers count.

    `stage_link` is between pipeline stages where these lie on several servers.

    A token is one of the rank's own where attention is data parallel; `matrices_s` wants those
    of one rank, and experts then meet `data_parallel` times as many.
    """
    rate = gpu.memory_bytes_per_s
    dense, expert = _weight_bytes(llm, layout)
    full, window, window_tokens, state = _cache_bytes(llm, layout, kv_dtype)
    attention, windowed = _attention_flops(llm, layout)
    plain = peak_flops(gpu, WeightFormat.BF16)
    hops, hop_s, token_link_s = _talk(llm, layout, link, stage_link or link)
    return Work(
        dense_read_s=dense / rate,
        expert_read_s=expert / rate,
        expert_share=_expert_share(llm, layout),
        token_math_s=_token_math_s(llm, gpu, layout),
        kv_read_s=full / rate,
        window_read_s=window / rate,
        window_tokens=window_tokens,
        state_read_s=state / rate,
        attention_math_s=attention / plain,
        window_math_s=windowed / plain,
        kernels=sum(group.count * layer_kernels(group) for group in llm.layers),
        hops=hops,
        hop_s=hop_s,
        token_link_s=token_link_s,
    )


def peak_flops(gpu: GpuSpec, format_: WeightFormat) -> float:
    """Dense FLOP/s of products with weights of this format; unpacked to bf16 where unsupported."""
    for name in _FORMAT_FLOPS.get(format_, ("bf16",)):
        if name in gpu.flops:
            return gpu.flops[name]
    return max(gpu.flops.values())


def layer_kernels(group: LayerGroup) -> float:
    """Kernels that one layer launches, as far as they are not fused away."""
    return _attention_kernels(group) + _feed_kernels(group)


def _attention_kernels(group: LayerGroup) -> float:
    attention = group.attention
    if isinstance(attention, LatentAttention):
        return 12.0 + (10.0 if attention.index_head_dim else 0.0)
    if isinstance(attention, LinearAttention):
        return 8.0
    return 0.0 if isinstance(attention, NoAttention) else 6.0


def _feed_kernels(group: LayerGroup) -> float:
    if isinstance(group.feed, ExpertFeed):
        return 10.0
    return 0.0 if isinstance(group.feed, NoFeed) else 4.0


def _tensors(llm: LlmSpec) -> Iterator[tuple[Tensor, int]]:
    """What a token passes through; the embedding only where it is the head."""
    for tensor in outer_tensors(llm):
        tied = tensor.role is Role.EMBEDDING and llm.tied_embeddings
        if tied or tensor.role not in (Role.EMBEDDING, Role.EXTRA):
            yield tensor, 1
    for group in llm.layers:
        for tensor in layer_tensors(llm, group.attention, group.feed):
            yield tensor, group.count


def _bits(llm: LlmSpec, tensor: Tensor) -> float:
    if llm.quantization is not None and is_quantised(tensor, llm.quantization):
        return bits_per_weight(llm.quantization, tensor.input_width)
    return 16.0


@lru_cache(_REMEMBERED)
def _weight_bytes(llm: LlmSpec, layout: LayoutSpec) -> tuple[float, float]:
    dense = expert = 0.0
    for tensor, count in _tensors(llm):
        size = tensor.parameters_per_gpu(layout) * count * _bits(llm, tensor) / 8
        if tensor.role is Role.EXPERT:
            expert += size
        else:
            dense += size
    return dense, expert


def _expert_share(llm: LlmSpec, layout: LayoutSpec) -> float:
    """k/E of the layers with experts; 1 - (1 - k/E)^d where d ranks send their tokens at once."""
    feeds = [(g.count, g.feed) for g in llm.layers if isinstance(g.feed, ExpertFeed)]
    if not feeds:
        return 0.0
    layers = sum(count for count, _ in feeds)
    share = sum(count * feed.experts_per_token / feed.experts for count, feed in feeds) / layers
    return 1 - (1 - share) ** layout.data_parallel


def _token_math_s(llm: LlmSpec, gpu: GpuSpec, layout: LayoutSpec) -> float:
    """2 FLOPs per number that a token meets, at the peak of the number's format."""
    return sum(flops / peak_flops(gpu, format_) for format_, flops in _token_flops(llm, layout))


@lru_cache(_REMEMBERED)
def _token_flops(llm: LlmSpec, layout: LayoutSpec) -> tuple[tuple[WeightFormat, float], ...]:
    found: dict[WeightFormat, float] = {}
    per_token = {id(g.feed): g.feed for g in llm.layers}
    shares = [f for f in per_token.values() if isinstance(f, ExpertFeed)]
    share = shares[0].experts_per_token / shares[0].experts if shares else 0.0
    for tensor, count in _tensors(llm):
        numbers: float = tensor.parameters_per_gpu(layout) * count
        if tensor.role is Role.EXPERT:
            numbers = tensor.parameters * count * share / layout.tensor_parallel
        quantised = llm.quantization is not None and is_quantised(tensor, llm.quantization)
        format_ = llm.quantization.format if quantised and llm.quantization else WeightFormat.BF16
        found[format_] = found.get(format_, 0.0) + 2 * numbers
    return tuple(found.items())


@lru_cache(_REMEMBERED)
def _cache_bytes(
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
def _attention_flops(llm: LlmSpec, layout: LayoutSpec) -> tuple[float, float]:
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


def _talk(
    llm: LlmSpec, layout: LayoutSpec, link: LinkSpec, stage_link: LinkSpec
) -> tuple[float, float, float]:
    """(hops of a pass, mean latency of one, seconds per token): two all-reduces per layer under TP.

    With data-parallel attention the experts' tokens go out and come back instead: k copies of
    a token's row each way, dispatched in 1 byte and combined in 2.
    """
    ranks, row = layout.tensor_parallel, llm.hidden * _ACTIVATION_BYTES
    hops = token_s = hop_s = 0.0
    if ranks > 1:
        hops += 2.0 * llm.layer_count
        hop_s = all_reduce_hop_s(link, ranks)
        token_s += hops * row * all_reduce_s_per_byte(link, ranks)
    wide = ranks * layout.data_parallel
    if layout.data_parallel > 1:
        for group in llm.layers:
            if isinstance(group.feed, ExpertFeed):
                copies = min(group.feed.experts_per_token, wide)
                hops += 2.0 * group.count
                sent = 1.5 * copies * row
                token_s += group.count * sent * all_to_all_s_per_byte(link, wide)
        hop_s = all_reduce_hop_s(link, wide)
    if layout.pipeline_parallel > 1:
        stages = float(layout.pipeline_parallel)
        hop_s = (hops * hop_s + stages * stage_link.latency_s) / (hops + stages)
        hops += stages
        token_s += (stages - 1) * row / stage_link.bytes_per_s
    return hops, hop_s, token_s
