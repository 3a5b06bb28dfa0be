"""A likely architecture for a model of which only the size is known."""

from math import log

import msgspec

from proa.domain.llm import DenseFeed, ExpertFeed, Feed, GroupedAttention, LayerGroup, LlmSpec
from proa.errors import FieldError
from proa.planner.text import Text

_USUAL = (
    (0.6e9, 28, 1024),
    (1.7e9, 28, 2048),
    (4e9, 36, 2560),
    (8e9, 36, 4096),
    (14e9, 40, 5120),
    (32e9, 64, 5120),
    (70e9, 80, 8192),
    (123e9, 88, 12288),
    (405e9, 126, 16384),
)
"""Parameters, layers and width of published dense models (Qwen3, Llama 3.1, Mistral Large)."""

SKETCHED = Text(
    "크기에 걸맞은 일반적인 구조(모델 이름을 주지 않음)",
    "a likely shape of the size given; no model was named",
)
_VOCABULARY = 131_072
_KV_HEADS = 8
_HEAD_DIM = 128
_EXPERTS = 128
_MULTIPLE = 256
_EXPERT_MULTIPLE = 64


class SketchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is known; `active_parameters` makes it a mixture of experts."""

    parameters: float
    active_parameters: float | None = None
    layers: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None


def sketch_model(spec: SketchSpec) -> LlmSpec:
    """A decoder of that many parameters, shaped as published models of the size are.

    Layers and width are those of the nearest dense model, 8 KV heads of 128 and 131,072 words
    where not given; the feed-forward takes what parameters are left. With active parameters
    there are 128 experts, of which so many are used as the active ones pay for.

    Not modelled:
        latent, windowed and linear attention: their cache is smaller than this one's.

    Raises:
        FieldError: more active parameters than parameters.
    """
    active = spec.active_parameters
    if active is not None and active > spec.parameters:
        raise FieldError("active_params", active, f"up to params = {spec.parameters:g}")
    middle = spec.parameters if active is None else (spec.parameters * active) ** 0.5
    layers = spec.layers or _usual(middle)[1]
    hidden = _usual(spec.parameters if active is None else active * 1.5)[2]
    attention = _attention(spec, hidden)
    feed = _feed(spec, layers, hidden, attention)
    return LlmSpec(
        id=_name(spec),
        architecture="sketch",
        hidden=hidden,
        vocab=_VOCABULARY,
        layers=(LayerGroup(count=layers, attention=attention, feed=feed),),
        parameters=round(spec.parameters),
        source=SKETCHED.en,
    )


def _usual(parameters: float) -> tuple[float, int, int]:
    return min(_USUAL, key=lambda row: abs(log(row[0] / parameters)))


def _attention(spec: SketchSpec, hidden: int) -> GroupedAttention:
    kv_heads, head_dim = spec.kv_heads or _KV_HEADS, spec.head_dim or _HEAD_DIM
    heads = max(1, round(hidden / head_dim / kv_heads)) * kv_heads
    return GroupedAttention(heads=heads, kv_heads=kv_heads, head_dim=head_dim)


def _feed(spec: SketchSpec, layers: int, hidden: int, attention: GroupedAttention) -> Feed:
    width = (2 * attention.heads + 2 * attention.kv_heads) * attention.head_dim
    around = layers * hidden * width + 2 * _VOCABULARY * hidden
    left = max(spec.parameters - around, spec.parameters / 4)
    numbers = left / (3 * hidden * layers)
    if spec.active_parameters is None:
        return DenseFeed(intermediate=_rounded(numbers))
    used = max(spec.active_parameters - around, spec.active_parameters / 4)
    per_token = min(max(round(used / left * _EXPERTS), 1), _EXPERTS)
    return ExpertFeed(
        experts=_EXPERTS,
        experts_per_token=per_token,
        intermediate=_rounded(numbers / _EXPERTS, _EXPERT_MULTIPLE),
    )


def _rounded(numbers: float, multiple: int = _MULTIPLE) -> int:
    return max(round(numbers / multiple), 1) * multiple


def _name(spec: SketchSpec) -> str:
    name = f"{spec.parameters / 1e9:.4g}B"
    return (
        name if spec.active_parameters is None else f"{name}-A{spec.active_parameters / 1e9:.3g}B"
    )
