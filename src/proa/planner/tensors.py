"""The tensors of a model: how many numbers, in which role, and how tensor parallelism cuts them.

A tensor is `units` equal parts (heads, columns, experts), and a cut gives each rank some of
them. What cannot be cut lies on every rank whole.
"""

from collections.abc import Iterator
from enum import StrEnum
from math import ceil

import msgspec

from proa.domain.llm import (
    Attention,
    DenseFeed,
    ExpertFeed,
    Feed,
    GroupedAttention,
    LatentAttention,
    LinearAttention,
    LlmSpec,
    NoAttention,
    NoFeed,
    Quantization,
)
from proa.planner.layout import LayoutSpec

VOCABULARY_MULTIPLE = 64
"""Engines pad the vocabulary to this (vLLM: DEFAULT_VOCAB_PADDING_SIZE)."""


_WHOLE_TOWERS = ("Kimi", "Mistral3", "Pixtral", "Llava")


class Role(StrEnum):
    """What a tensor is for."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear_attention"
    DENSE_FEED = "dense_feed"
    EXPERT = "expert"
    SHARED_EXPERT = "shared_expert"
    ROUTER = "router"
    NORM = "norm"
    EXTRA = "extra"


class Cut(StrEnum):
    """How ranks share a tensor: not at all, by TP, or as the experts lie."""

    WHOLE = "whole"
    TENSOR = "tensor"
    EXPERTS = "experts"


class Tensor(msgspec.Struct, frozen=True, kw_only=True):
    """`units` parts of `unit_parameters` numbers each, `experts` times; `input_width` columns.

    `matrix` is False for what is never quantised: norms, biases, convolutions.
    """

    name: str
    role: Role
    units: int
    unit_parameters: int
    cut: Cut = Cut.TENSOR
    experts: int = 1
    input_width: int = 1
    matrix: bool = True

    @property
    def parameters(self) -> int:
        """All of its numbers."""
        return self.units * self.unit_parameters * self.experts

    def parameters_per_gpu(self, layout: LayoutSpec) -> int:
        """Numbers on the GPU that has most of them.

        Units that are fewer than ranks are replicated (KV heads), and those that do not divide
        are padded up (vocabulary).
        """
        if self.cut is Cut.WHOLE:
            return self.parameters
        if self.cut is Cut.TENSOR:
            return ceil(self.units / layout.tensor_parallel) * self.unit_parameters
        ranks = layout.tensor_parallel * layout.data_parallel
        if layout.expert_parallel:
            return ceil(self.experts / ranks) * self.units * self.unit_parameters
        return self.experts * ceil(self.units / ranks) * self.unit_parameters


def layer_tensors(llm: LlmSpec, attention: Attention, feed: Feed) -> tuple[Tensor, ...]:
    """Every tensor of one layer."""
    parts = [*_attention_tensors(llm.hidden, attention), *_feed_tensors(llm.hidden, feed)]
    norms = 2 - isinstance(attention, NoAttention) - isinstance(feed, NoFeed)
    parts.append(_vector("norms", norms * llm.hidden))
    return tuple(parts)


def outer_tensors(llm: LlmSpec) -> tuple[Tensor, ...]:
    """What stands outside the layers: embedding, final norm, LM head, vision tower.

    A tied head has no tensor of its own here.
    """
    vocab = -(-llm.vocab // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE
    names = [("embedding", Role.EMBEDDING)]
    if not llm.tied_embeddings:
        names.append(("lm_head", Role.HEAD))
    tensors = [
        Tensor(
            name=name, role=role, units=vocab, unit_parameters=llm.hidden, input_width=llm.hidden
        )
        for name, role in names
    ]
    tensors.append(_vector("final_norm", llm.hidden))
    if llm.extra_parameters:
        tensors.append(_extra(llm))
    return tuple(tensors)


def _extra(llm: LlmSpec) -> Tensor:
    """Vision towers are sliced, but for those that engines run whole on every rank."""
    whole = llm.architecture.startswith(_WHOLE_TOWERS)
    return Tensor(
        name="extra",
        role=Role.EXTRA,
        units=llm.extra_parameters,
        unit_parameters=1,
        cut=Cut.WHOLE if whole else Cut.TENSOR,
        matrix=False,
    )


def all_tensors(llm: LlmSpec) -> Iterator[tuple[Tensor, int]]:
    """Every tensor and how often it occurs."""
    for tensor in outer_tensors(llm):
        yield tensor, 1
    for group in llm.layers:
        for tensor in layer_tensors(llm, group.attention, group.feed):
            yield tensor, group.count


def parameter_count(llm: LlmSpec) -> int:
    """All numbers of the model, from its architecture; the vocabulary is not padded."""
    padding = -llm.vocab % VOCABULARY_MULTIPLE * llm.hidden * (1 if llm.tied_embeddings else 2)
    return sum(tensor.parameters * count for tensor, count in all_tensors(llm)) - padding


def active_parameter_count(llm: LlmSpec) -> int:
    """Numbers that one token passes through: matrices, with the routed experts it is sent to.

    The embedding is a look-up and counts only where it is the head as well.
    """
    total = 0
    for group in llm.layers:
        for tensor in layer_tensors(llm, group.attention, group.feed):
            share = 1
            if tensor.role is Role.EXPERT and isinstance(group.feed, ExpertFeed):
                share = group.feed.experts_per_token
                total += group.count * share * tensor.parameters // tensor.experts
            else:
                total += group.count * tensor.parameters
    return total + llm.vocab * llm.hidden


def is_quantised(tensor: Tensor, quantization: Quantization | None) -> bool:
    """Whether a checkpoint of this kind keeps the tensor in its quantised format."""
    if quantization is None or not tensor.matrix:
        return False
    attention = quantization.attention
    if tensor.name == "o" and quantization.attention_output is not None:
        attention = quantization.attention_output
    return {
        Role.ATTENTION: attention,
        Role.LINEAR_ATTENTION: quantization.linear_attention,
        Role.DENSE_FEED: quantization.dense_feed,
        Role.EXPERT: True,
        Role.SHARED_EXPERT: quantization.shared_experts,
        Role.HEAD: quantization.head,
    }.get(tensor.role, False)


def _attention_tensors(hidden: int, attention: Attention) -> Iterator[Tensor]:
    if isinstance(attention, GroupedAttention):
        return _grouped(hidden, attention)
    if isinstance(attention, LatentAttention):
        return _latent(hidden, attention)
    if isinstance(attention, LinearAttention):
        return _linear(hidden, attention)
    return iter(())


def _grouped(hidden: int, a: GroupedAttention) -> Iterator[Tensor]:
    role, value_dim = Role.ATTENTION, a.value_dim or a.head_dim
    rows = (
        ("q", a.heads, a.head_dim * (2 if a.gated else 1)),
        ("k", a.kv_heads, a.head_dim),
        ("v", a.kv_heads, value_dim),
    )
    for name, heads, width in rows:
        if (a.shares_kv and name != "q") or (a.value_is_key and name == "v"):
            continue
        yield _matrix(name, role, heads, width, hidden)
        if a.bias:
            yield _vector(f"{name}_bias", heads * width, role=role)
    yield Tensor(
        name="o",
        role=role,
        units=a.heads,
        unit_parameters=value_dim * hidden,
        input_width=a.heads * value_dim,
    )
    if a.qk_norm:
        yield _vector("qk_norm", 2 * a.head_dim)


def _latent(hidden: int, a: LatentAttention) -> Iterator[Tensor]:
    role, q_width = Role.ATTENTION, a.nope_head_dim + a.rope_head_dim
    row = a.kv_lora_rank + a.rope_head_dim
    if a.q_lora_rank:
        yield _whole("q_a", role, a.q_lora_rank, hidden)
        yield _vector("q_a_norm", a.q_lora_rank)
    q_input = a.q_lora_rank or hidden
    yield _matrix("q_b", role, a.heads, q_width, q_input)
    yield _whole("kv_a", role, row, hidden)
    yield _vector("kv_a_norm", a.kv_lora_rank)
    if a.gated:
        yield _matrix("gate", role, a.heads, a.value_dim, hidden)
    yield from _direct_output(hidden, a) if a.direct else _latent_output(hidden, a)
    if a.index_head_dim:
        yield _whole("index_q", role, a.index_heads * a.index_head_dim, q_input)
        yield _whole("index_k", role, a.index_head_dim, hidden)
        yield _vector("index_weights", a.index_heads * hidden, role=role)


def _latent_output(hidden: int, a: LatentAttention) -> Iterator[Tensor]:
    role, width = Role.ATTENTION, a.heads * a.value_dim
    yield _matrix("kv_b", role, a.heads, a.nope_head_dim + a.value_dim, a.kv_lora_rank)
    yield Tensor(
        name="o",
        role=role,
        units=a.heads,
        unit_parameters=a.value_dim * hidden,
        input_width=width,
    )


def _direct_output(hidden: int, a: LatentAttention) -> Iterator[Tensor]:
    """DeepSeek-V4: a low-rank way out for each group of heads, and one matrix back."""
    groups = max(a.output_groups, 1)
    width = a.heads * a.value_dim // groups
    yield _matrix("o_a", Role.ATTENTION, groups, a.output_lora_rank, width)
    yield Tensor(
        name="o_b",
        role=Role.ATTENTION,
        units=groups,
        unit_parameters=a.output_lora_rank * hidden,
        input_width=groups * a.output_lora_rank,
    )


def _linear(hidden: int, a: LinearAttention) -> Iterator[Tensor]:
    """z, the convolved channels, and a gate or two per head go in; the values come out."""
    role, values = Role.LINEAR_ATTENTION, a.value_heads * a.head_dim
    gates = 1 if a.form.startswith("mamba") else 2
    yield _matrix("in", role, a.value_heads, (values + a.conv_dim) // a.value_heads, hidden)
    yield Tensor(
        name="gates",
        role=role,
        units=a.value_heads,
        unit_parameters=gates * hidden,
        input_width=hidden,
        matrix=gates == 1,
    )
    yield Tensor(
        name="convolution",
        role=role,
        units=a.value_heads,
        unit_parameters=a.conv_dim * a.conv_kernel // a.value_heads,
        matrix=False,
    )
    yield Tensor(
        name="out",
        role=role,
        units=a.value_heads,
        unit_parameters=a.head_dim * hidden,
        input_width=values,
    )


def _feed_tensors(hidden: int, feed: Feed) -> Iterator[Tensor]:
    if isinstance(feed, DenseFeed):
        yield from _feed(Role.DENSE_FEED, hidden, feed.intermediate, feed.gated)
    elif isinstance(feed, ExpertFeed):
        yield _vector("router", feed.experts * hidden, role=Role.ROUTER)
        width = feed.latent or hidden
        for tensor in _feed(Role.EXPERT, width, feed.intermediate, feed.gated):
            yield msgspec.structs.replace(tensor, experts=feed.experts, cut=Cut.EXPERTS)
        if feed.latent:
            yield _whole("latent_in", Role.SHARED_EXPERT, feed.latent, hidden)
            yield _whole("latent_out", Role.SHARED_EXPERT, hidden, feed.latent)
        if feed.shared_intermediate:
            yield from _feed(Role.SHARED_EXPERT, hidden, feed.shared_intermediate, feed.gated)


def _feed(role: Role, hidden: int, intermediate: int, gated: bool) -> Iterator[Tensor]:
    yield _matrix("up", role, intermediate, 2 if gated else 1, hidden)
    yield Tensor(
        name="down",
        role=role,
        units=intermediate,
        unit_parameters=hidden,
        input_width=intermediate,
    )


def _matrix(name: str, role: Role, units: int, unit_rows: int, columns: int) -> Tensor:
    return Tensor(
        name=name, role=role, units=units, unit_parameters=unit_rows * columns, input_width=columns
    )


def _whole(name: str, role: Role, rows: int, columns: int) -> Tensor:
    return Tensor(
        name=name,
        role=role,
        units=rows,
        unit_parameters=columns,
        cut=Cut.WHOLE,
        input_width=columns,
    )


def _vector(name: str, parameters: int, *, role: Role = Role.NORM) -> Tensor:
    return Tensor(
        name=name, role=role, units=1, unit_parameters=parameters, cut=Cut.WHOLE, matrix=False
    )
