"""What a pass through a model costs one GPU at the roof of its data sheet."""

from collections.abc import Iterator
from functools import lru_cache

from proa.domain.gpu import GpuSpec
from proa.domain.llm import (
    ExpertFeed,
    LlmSpec,
    WeightFormat,
)
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.memory.layer_tensors import layer_tensors
from proa.planner.memory.tensor import Role, Tensor
from proa.planner.memory.tensors import is_quantised, outer_tensors
from proa.planner.memory.weights import bits_per_weight
from proa.planner.speed.layer_work import (
    attention_flops,
    cache_bytes,
    layer_kernels,
    moved_bytes,
)
from proa.planner.speed.link_work import talk
from proa.planner.speed.links import LinkSpec
from proa.planner.speed.step_formula import Work

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
    full, window, window_tokens, state = cache_bytes(llm, layout, kv_dtype)
    attention, windowed = attention_flops(llm, layout)
    plain = peak_flops(gpu, WeightFormat.BF16)
    hops, hop_s, token_link_s = talk(llm, layout, link, stage_link or link)
    return Work(
        dense_read_s=dense / rate,
        expert_read_s=expert / rate,
        expert_share=_expert_share(llm, layout),
        token_math_s=_math_s(llm, gpu, layout, experts=False),
        expert_math_s=_math_s(llm, gpu, layout, experts=True),
        move_s=moved_bytes(llm, layout) / rate,
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


def _math_s(llm: LlmSpec, gpu: GpuSpec, layout: LayoutSpec, *, experts: bool) -> float:
    """2 FLOPs per number that a token meets, at the peak of the number's format."""
    rows = _token_flops(llm, layout, experts=experts)
    return sum(flops / peak_flops(gpu, format_) for format_, flops in rows)


@lru_cache(_REMEMBERED)
def _token_flops(
    llm: LlmSpec, layout: LayoutSpec, *, experts: bool
) -> tuple[tuple[WeightFormat, float], ...]:
    """FLOPs of a token on one GPU by format of the weights, of the experts or of all others."""
    found: dict[WeightFormat, float] = {}
    feeds = [group.feed for group in llm.layers if isinstance(group.feed, ExpertFeed)]
    share = feeds[0].experts_per_token / feeds[0].experts if feeds else 0.0
    for tensor, count in _tensors(llm):
        if (tensor.role is Role.EXPERT) is not experts:
            continue
        numbers: float = tensor.parameters_per_gpu(layout) * count
        if experts:
            numbers = tensor.parameters * count * share / layout.tensor_parallel
        quantised = llm.quantization is not None and is_quantised(tensor, llm.quantization)
        format_ = llm.quantization.format if quantised and llm.quantization else WeightFormat.BF16
        found[format_] = found.get(format_, 0.0) + 2 * numbers
    return tuple(found.items())
