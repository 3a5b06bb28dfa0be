"""What a language model is: the architecture facts from which weights, KV cache and work follow.

A model is a stack of layers; layers that are alike form a `LayerGroup`. Nothing is computed
here but what the facts say outright: tensors, bytes and FLOPs are the planner's.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from proa.domain.text import Text


class GroupedAttention(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="gqa"
):
    """Multi-head, grouped-query or multi-query attention.

    `window`: tokens that a layer looks back, None for all of them. `value_dim` is the head
    dimension of V where it differs from `head_dim`. `shares_kv` layers read the cache of an
    earlier layer and hold none. `gated` attention has a second output of Q's size.
    `value_is_key` layers have no V projection (their V is K's), and cache both all the same.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int | None = None
    window: int | None = None
    shares_kv: bool = False
    bias: bool = False
    qk_norm: bool = False
    gated: bool = False
    value_is_key: bool = False


class LatentAttention(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="mla"
):
    """Multi-head latent attention: one compressed row per token, shared by all heads.

    With `index_head_dim` > 0 it is sparse (DSA): an indexer picks `index_top_k` tokens, and
    holds a key of that many bytes (fp8) and a scale of 4 per token. `gated` has a second output
    of the size of all heads' V. DeepSeek-V4 attends to the row itself (`direct`: no matrices up
    from it, V is the row), keeps one row per `compress_ratio` tokens (0: none) beside the last
    `window` tokens, and goes out through `output_groups` matrices of `output_lora_rank`.
    """

    heads: int
    kv_lora_rank: int
    rope_head_dim: int
    nope_head_dim: int
    value_dim: int
    q_lora_rank: int | None = None
    index_heads: int = 0
    index_head_dim: int = 0
    index_top_k: int = 0
    gated: bool = False
    direct: bool = False
    compress_ratio: int = 1
    window: int | None = None
    output_groups: int = 0
    output_lora_rank: int = 0


class LinearAttention(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="linear"
):
    """Mamba-2, gated delta net, lightning attention and their like: a state per sequence.

    The state is `value_heads` x `head_dim` x `state_dim` numbers, and the last `conv_kernel - 1`
    inputs of a convolution over `conv_dim` channels.
    """

    form: str
    value_heads: int
    key_heads: int
    head_dim: int
    state_dim: int
    conv_kernel: int
    conv_dim: int
    state_dtype: str = "auto"


class NoAttention(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="none"
):
    """A layer that only feeds forward (Nemotron-H keeps them apart)."""


class DenseFeed(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="dense"
):
    """Feed-forward: three matrices where it is gated (SwiGLU), else two."""

    intermediate: int
    gated: bool = True


class ExpertFeed(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="experts"
):
    """Mixture of experts: a router, `experts` small feed-forwards, and shared ones.

    `latent` is the width that experts work in where it is not the model's.
    """

    experts: int
    experts_per_token: int
    intermediate: int
    shared_intermediate: int = 0
    gated: bool = True
    latent: int | None = None


class NoFeed(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="no_feed"
):
    """A layer of attention or state only."""


Attention: TypeAlias = GroupedAttention | LatentAttention | LinearAttention | NoAttention
Feed: TypeAlias = DenseFeed | ExpertFeed | NoFeed


class LayerGroup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`count` layers that are alike, wherever they stand in the stack."""

    count: int
    attention: Attention
    feed: Feed


class WeightFormat(StrEnum):
    """How numbers of the weights are kept."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"


class Quantization(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a checkpoint was quantised: the format of the layers that are, the rest is bf16.

    `method` is the checkpoint's own word (fp8, awq, gptq, compressed-tensors, modelopt, mxfp4);
    `group_size` numbers share a scale, None where a whole tensor or channel does. What is left
    in bf16 are embeddings, norms, routers and, unless `head`, the LM head; `attention`,
    `linear_attention`, `shared_experts` and `dense_feed` say whether these are quantised too, in
    the format `rest` where it is another than the routed experts'; `attention_output` says it of
    attention's last matrix where it differs. `block` is the side of square
    blocks with a scale each (`group_size` is its square then), which no split may cut. `kv_cache`
    is the format that the checkpoint wants its cache in, with scales for it.
    """

    method: str
    format: WeightFormat
    group_size: int | None = None
    attention: bool = True
    attention_output: bool | None = None
    linear_attention: bool = True
    shared_experts: bool = True
    dense_feed: bool = True
    head: bool = False
    block: int | None = None
    rest: WeightFormat | None = None
    kv_cache: WeightFormat | None = None


class LlmSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model, or one checkpoint of it.

    `parameters` is the published count of all numbers where one is known (embeddings, vision
    tower and extra heads included), `extra_parameters` those outside the layers that an engine
    loads all the same (vision tower), `draft_layers` multi-token-prediction layers that are
    loaded for speculation only. `max_context` in tokens. `notes` tell a person what was taken
    for granted.
    """

    id: str
    architecture: str
    hidden: int
    vocab: int
    layers: tuple[LayerGroup, ...]
    tied_embeddings: bool = False
    max_context: int = 0
    parameters: int | None = None
    extra_parameters: int = 0
    draft_layers: int = 0
    quantization: Quantization | None = None
    source: str = ""
    notes: tuple[Text, ...] = ()

    @property
    def layer_count(self) -> int:
        """All layers, of every kind."""
        return sum(group.count for group in self.layers)
