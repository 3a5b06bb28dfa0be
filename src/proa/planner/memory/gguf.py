"""GGUF files: true bits per weight of their mixtures, scales and the unquantised rest included."""

import msgspec

from proa.domain.llm import LlmSpec, Quantization, WeightFormat
from proa.planner.layout import LayoutSpec
from proa.planner.memory.tensors import parameter_count
from proa.planner.memory.weights import weights_bytes

GGUF_BITS = {
    "q2_k": 3.00,
    "q3_k_s": 3.50,
    "q3_k_m": 3.91,
    "q3_k_l": 4.27,
    "iq4_xs": 4.32,
    "iq4_nl": 4.60,
    "q4_0": 4.66,
    "q4_1": 5.10,
    "q4_k_s": 4.58,
    "q4_k_m": 4.87,
    "q5_0": 5.57,
    "q5_k_s": 5.52,
    "q5_k_m": 5.70,
    "q6_k": 6.56,
    "q8_0": 8.50,
    "mxfp4_moe": 4.34,
    "f16": 16.0,
    "bf16": 16.0,
}
"""Bits per weight of whole files: the table of llama.cpp's tools/quantize (Llama 3 8B).

Seen: Q4_K_M of Qwen3-30B-A3B 4.86 (ggml-org/llama.cpp#14235), MXFP4 of gpt-oss-120b 4.34
(#15253). Small models with large vocabularies lie above, large ones a little below.
"""


def gguf_quantization(name: str) -> Quantization | None:
    """The quantisation that a GGUF name stands for; None where it is none."""
    plain = name.strip().lower()
    if plain not in GGUF_BITS:
        return None
    bits = GGUF_BITS[plain]
    near = WeightFormat.INT4 if bits < 8 else WeightFormat.INT8 if bits < 16 else WeightFormat.BF16
    return Quantization(method=plain, format=near)


def gguf_weights_bytes(llm: LlmSpec, layout: LayoutSpec) -> int | None:
    """Weights of the fullest GPU in a GGUF mixture; None for a model in another format.

    bytes = parameters x bits / 8, of which a GPU holds the part that it holds of bf16 weights.
    """
    method = llm.quantization.method if llm.quantization else ""
    if method not in GGUF_BITS:
        return None
    whole = bf16_bytes(llm, LayoutSpec())
    share = bf16_bytes(llm, layout) / whole if whole else 1.0
    return round(parameter_count(llm) * GGUF_BITS[method] / 8 * share)


def bf16_bytes(llm: LlmSpec, layout: LayoutSpec) -> int:
    """Weights as if nothing were quantised."""
    return weights_bytes(_unquantised(llm), layout)


def _unquantised(llm: LlmSpec) -> LlmSpec:
    return msgspec.structs.replace(llm, quantization=None)
