"""What vLLM's "Model loading took" counts: weights as they lie in PyTorch's allocator."""

from collections.abc import Iterator
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from proa.domain.llm import (
    Attention,
    ExpertFeed,
    GroupedAttention,
    LatentAttention,
    LayerGroup,
    LlmSpec,
    WeightFormat,
)
from proa.planner.fit.spec import FitSpec
from proa.planner.fit.vllm_versions import VllmVersion
from proa.planner.layout import LayoutSpec, StageLayers
from proa.planner.memory.layer_tensors import layer_tensors
from proa.planner.memory.tensor import Role, Tensor
from proa.planner.memory.tensors import is_quantised
from proa.planner.memory.weights import outer_of_stage, plain_bits, tensor_bits

_MIB = 2**20
_LARGE = 10 * _MIB
_SEGMENT = 2 * _MIB
_FUSED = {"k": "q", "v": "q", "kv_a": "q_a"}
_EXPERT_MULTIPLE = 128
_ROCM_ROW_PADDING = 128
_ROCM_FP8_GROWTH = 1.0075


def loaded_bytes(spec: FitSpec, stage: StageLayers, version: VllmVersion) -> int:
    """Weights of one stage on its fullest GPU.

    bytes = fused tensors, each as the allocator gives it + rotary tables + absorbed matrices

    Q, K and V are one tensor, gate and up another. The allocator gives 10 MiB and more in whole
    2 MiB, and keeps a rest of up to 1 MiB with the tensor. MLA keeps the two halves of kv_b once
    more in bf16. Rotary tables are as long as the model's longest context, whatever is asked.

    Source:
        PyTorch CUDACachingAllocator (kRoundLarge, kSmallSize); vLLM, rotary_embedding/base.py,
        MLAAttention.process_weights_after_loading.
    """
    maker = _Maker(spec.gpu.vendor, spec.gpu.family)
    laid = _Laid(spec.llm, spec.layout, spec.plain, spec.draft_tokens, maker)
    return _loaded_bytes(laid, stage, version)


class _Maker(NamedTuple):
    vendor: str
    family: str


class _Laid(NamedTuple):
    """What of a start decides its weights, named as in `FitSpec`."""

    llm: LlmSpec
    layout: LayoutSpec
    plain: WeightFormat
    draft_tokens: int
    gpu: _Maker


@lru_cache(4096)
def _loaded_bytes(spec: _Laid, stage: StageLayers, version: VllmVersion) -> int:
    llm, total = spec.llm, 0.0
    for tensor in outer_of_stage(llm, stage):
        total += allocated_bytes(_tensor_bytes(spec, tensor))
    for group, count in zip(llm.layers, stage.counts, strict=True):
        if count:
            total += count * sum(map(allocated_bytes, _layer(spec, group, version)))
            total += count * _absorbed(group.attention, spec.layout.tensor_parallel)
    if spec.draft_tokens and stage.last:
        total += llm.draft_layers * _draft_layer(spec, version)
    return ceil(total + rotary_bytes(llm))


def allocated_bytes(size: float) -> int:
    """What one tensor of `size` bytes takes of the caching allocator."""
    whole = ceil(size / 512) * 512
    if whole < _LARGE:
        return whole
    rest = -whole % _SEGMENT
    return whole + (rest if rest <= _MIB else 0)


def rotary_bytes(llm: LlmSpec) -> int:
    """Tables of sine and cosine: one per head dimension, context x dimension x 2 B (MLA: 4 B)."""
    widths: dict[int, int] = {}
    for group in llm.layers:
        attention = group.attention
        if isinstance(attention, GroupedAttention):
            widths[attention.head_dim] = 2
        elif isinstance(attention, LatentAttention):
            widths[attention.rope_head_dim] = 4
    return sum(llm.max_context * width * size for width, size in widths.items())


def _layer(spec: _Laid, group: LayerGroup, version: VllmVersion) -> Iterator[float]:
    fused: dict[str, float] = {}
    for tensor in layer_tensors(spec.llm, group.attention, group.feed):
        name = f"{tensor.role}.{_FUSED.get(tensor.name, tensor.name)}"
        size = _tensor_bytes(spec, tensor)
        if isinstance(group.feed, ExpertFeed) and tensor.role is Role.EXPERT:
            size *= _expert_padding(spec, group.feed, tensor.name, version)
        fused[name] = fused.get(name, 0.0) + size
    if isinstance(group.attention, GroupedAttention) and group.attention.value_is_key:
        heads = ceil(group.attention.kv_heads / spec.layout.tensor_parallel)
        width = group.attention.head_dim * spec.llm.hidden
        fused[f"{Role.ATTENTION}.q"] += heads * width * plain_bits(spec.plain) / 8
    yield from fused.values()


def _draft_layer(spec: _Laid, version: VllmVersion) -> float:
    """A layer that guesses ahead: like the last one, after a matrix that joins two rows."""
    joined = 2 * spec.llm.hidden**2 * plain_bits(spec.plain) / 8
    group = spec.llm.layers[-1]
    absorbed = _absorbed(group.attention, spec.layout.tensor_parallel)
    return joined + absorbed + sum(map(allocated_bytes, _layer(spec, group, version)))


def _expert_padding(spec: _Laid, feed: ExpertFeed, name: str, version: VllmVersion) -> float:
    """How much larger kernels want experts than they are.

    Quantised ones without a gate in multiples of 128 (since 0.17); mxfp4 in multiples of 256 of
    the hidden width, with Marlin in 128 of their own too; ROCm adds 128 numbers to rows of
    whole 512 bytes.

    Source:
        vLLM, fused_moe/oracle, quantization/mxfp4.py, VLLM_ROCM_MOE_PADDING.
    """
    quantization, hidden = spec.llm.quantization, feed.latent or spec.llm.hidden
    ranks = 1 if spec.layout.expert_parallel else spec.layout.tensor_parallel
    width = ceil(feed.intermediate / ranks)
    if quantization is not None and quantization.format is WeightFormat.MXFP4:
        grown = _grown(hidden, 2 * _EXPERT_MULTIPLE)
        return grown * (
            1.0 if _has_triton_mxfp4(spec, version) else _grown(width, _EXPERT_MULTIPLE)
        )
    if spec.gpu.vendor == "amd" and name == "up":
        row = hidden * (1 if quantization is not None else 2)
        return 1 + _ROCM_ROW_PADDING / hidden if row % 512 == 0 else 1.0
    if quantization is not None and not feed.gated and version.pads_experts:
        return _grown(width, _EXPERT_MULTIPLE)
    return 1.0


def _has_triton_mxfp4(spec: _Laid, version: VllmVersion) -> bool:
    return spec.gpu.family == "hopper" and version.triton_mxfp4


def _grown(width: int, multiple: int) -> float:
    return ceil(width / multiple) * multiple / width


def _tensor_bytes(spec: _Laid, tensor: Tensor) -> float:
    numbers = tensor.parameters_per_gpu(spec.layout)
    quantization = spec.llm.quantization
    if quantization is not None and is_quantised(tensor, quantization):
        padded = spec.gpu.vendor == "amd" and quantization.format is WeightFormat.FP8
        bits = tensor_bits(quantization, tensor) * (_ROCM_FP8_GROWTH if padded else 1.0)
        return numbers * bits / 8
    return numbers * plain_bits(spec.plain) / 8


def _absorbed(attention: Attention, tensor_parallel: int) -> int:
    if not isinstance(attention, LatentAttention) or attention.direct:
        return 0
    heads = ceil(attention.heads / tensor_parallel)
    return heads * (attention.nope_head_dim + attention.value_dim) * attention.kv_lora_rank * 2
