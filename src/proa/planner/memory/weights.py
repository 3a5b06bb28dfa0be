"""Bytes of weights: each tensor in its own format, scales and zero points included."""

from functools import lru_cache

import msgspec

from proa.domain.llm import LlmSpec, Quantization, WeightFormat
from proa.errors import InputError
from proa.planner.layout import LayoutSpec, StageLayers, pipeline_stages
from proa.planner.memory.layer_tensors import layer_tensors
from proa.planner.memory.tensor import Role, Tensor
from proa.planner.memory.tensors import is_quantised, outer_tensors

_BITS = {
    WeightFormat.FP32: 32.0,
    WeightFormat.BF16: 16.0,
    WeightFormat.FP8: 8.0,
    WeightFormat.INT8: 8.0,
    WeightFormat.INT4: 4.0,
    WeightFormat.NVFP4: 4.0,
    WeightFormat.MXFP4: 4.0,
}
_ROW_SCALE_BITS = 16.0
_BLOCK_SCALE_BITS = 32.0


class WeightsPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of one pipeline stage on the GPU that holds most of them."""

    quantised_bytes: int
    plain_bytes: int

    @property
    def total_bytes(self) -> int:
        """Both."""
        return self.quantised_bytes + self.plain_bytes


def weights_bytes(
    llm: LlmSpec, layout: LayoutSpec | None = None, *, plain: WeightFormat = WeightFormat.BF16
) -> int:
    """Weights on the fullest GPU of one replica.

    `plain` is the format of what the checkpoint's quantisation leaves alone.

    Raises:
        InputError: more pipeline stages than layers.
    """
    return _fullest_bytes(llm, layout or LayoutSpec(), plain)


@lru_cache(1024)
def _fullest_bytes(llm: LlmSpec, layout: LayoutSpec, plain: WeightFormat) -> int:
    stages = pipeline_stages(llm, layout)
    return max(stage_weights(llm, layout, stage, plain=plain).total_bytes for stage in stages)


def stage_weights(
    llm: LlmSpec,
    layout: LayoutSpec,
    stage: StageLayers,
    *,
    plain: WeightFormat = WeightFormat.BF16,
) -> WeightsPlan:
    """Weights of one stage; a tied embedding lies on the first and on the last one."""
    quantised = rest = 0.0
    for tensor, count in _stage_tensors(llm, stage):
        numbers = tensor.parameters_per_gpu(layout) * count
        if llm.quantization is not None and is_quantised(tensor, llm.quantization):
            quantised += numbers * tensor_bits(llm.quantization, tensor) / 8
        else:
            rest += numbers * _BITS[plain] / 8
    return WeightsPlan(quantised_bytes=round(quantised), plain_bytes=round(rest))


def bits_per_weight(quantization: Quantization, input_width: int) -> float:
    """True bits of one quantised number, with its part of scales and zero points.

    bits = format + scale / numbers that share it + zero point / numbers that share it

    AWQ, GPTQ: fp16 scale and a 4- or 8-bit zero point per group. fp8 in blocks: fp32 per
    128 x 128. nvfp4: fp8 per 16. mxfp4: 8 bits per 32. Else a 16-bit scale per group, or per row.

    Source:
        AutoAWQ WQLinear_GEMM, GPTQModel, the compressed-tensors and OCP MX specifications.
    """
    bits, group = _BITS[quantization.format], quantization.group_size
    if quantization.format is WeightFormat.NVFP4:
        return bits + 8 / (group or 16)
    if quantization.format is WeightFormat.MXFP4:
        return bits + 8 / (group or 32)
    if quantization.format is WeightFormat.FP8 and quantization.block is None:
        return bits + _ROW_SCALE_BITS / max(input_width, 1)
    if quantization.block:
        return bits + _BLOCK_SCALE_BITS / quantization.block**2
    zero = bits if quantization.method in ("awq", "gptq") else 0.0
    return bits + (_ROW_SCALE_BITS + zero) / (group or max(input_width, 1))


def plain_bits(plain: WeightFormat) -> float:
    """Bits of one number that no quantisation touches."""
    return _BITS[plain]


def tensor_bits(quantization: Quantization, tensor: Tensor) -> float:
    """As `bits_per_weight`, where routed experts have another format than the rest."""
    if quantization.rest is not None and tensor.role is not Role.EXPERT:
        apart = Quantization(method=quantization.method, format=quantization.rest)
        return bits_per_weight(apart, tensor.input_width)
    return bits_per_weight(quantization, tensor.input_width)


def with_precision(llm: LlmSpec, precision: WeightFormat | str) -> LlmSpec:
    """The same model with its layers in another format; embeddings and head stay as they are.

    Raises:
        InputError: no such format.
    """
    try:
        wanted = WeightFormat(precision)
    except ValueError:
        accepted = ", ".join(WeightFormat)
        raise InputError(f"precision = {str(precision)!r}: accepted is {accepted}") from None
    if wanted in (WeightFormat.BF16, WeightFormat.FP32):
        return msgspec.structs.replace(llm, quantization=None)
    group = {WeightFormat.INT4: 128, WeightFormat.NVFP4: 16, WeightFormat.MXFP4: 32}.get(wanted)
    return msgspec.structs.replace(
        llm, quantization=Quantization(method=wanted.value, format=wanted, group_size=group)
    )


def bytes_of_parameters(parameters: int, precision: WeightFormat | str) -> int:
    """Bytes of a bare parameter count, all of it in one format, without scales.

    This is the first line of an offer (30 B in FP8 = 30 GB); `weights_bytes` is the true one.

    Raises:
        InputError: no such format, or no parameters.
    """
    if parameters < 1:
        raise InputError(f"parameters = {parameters}: accepted is 1 or more")
    try:
        return round(parameters * _BITS[WeightFormat(precision)] / 8)
    except ValueError:
        accepted = ", ".join(WeightFormat)
        raise InputError(f"precision = {str(precision)!r}: accepted is {accepted}") from None


def outer_of_stage(llm: LlmSpec, stage: StageLayers) -> list[Tensor]:
    """Tensors outside the layers that a stage holds; a tied embedding is on the last one too."""
    result = []
    for tensor in outer_tensors(llm):
        first = tensor.role in (Role.EMBEDDING, Role.EXTRA)
        tied = tensor.role is Role.EMBEDDING and llm.tied_embeddings
        if (first and stage.first) or ((tied or not first) and stage.last):
            result.append(tensor)
    return result


def _stage_tensors(llm: LlmSpec, stage: StageLayers) -> list[tuple[Tensor, int]]:
    result = [(tensor, 1) for tensor in outer_of_stage(llm, stage)]
    for group, count in zip(llm.layers, stage.counts, strict=True):
        if count:
            tensors = layer_tensors(llm, group.attention, group.feed)
            result.extend((tensor, count) for tensor in tensors)
    return result
