"""The tensors of one layer, by its kind of attention and of feed-forward."""

from collections.abc import Iterator

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
)
from proa.planner.memory.tensor import Cut, Role, Tensor, matrix, vector, whole


def layer_tensors(llm: LlmSpec, attention: Attention, feed: Feed) -> tuple[Tensor, ...]:
    """Every tensor of one layer."""
    parts = [*_attention_tensors(llm.hidden, attention), *_feed_tensors(llm.hidden, feed)]
    norms = 2 - isinstance(attention, NoAttention) - isinstance(feed, NoFeed)
    parts.append(vector("norms", norms * llm.hidden))
    return tuple(parts)


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
        yield matrix(name, role, heads, width, hidden)
        if a.bias:
            yield vector(f"{name}_bias", heads * width, role=role)
    yield Tensor(
        name="o",
        role=role,
        units=a.heads,
        unit_parameters=value_dim * hidden,
        input_width=a.heads * value_dim,
    )
    if a.qk_norm:
        yield vector("qk_norm", 2 * a.head_dim)


def _latent(hidden: int, a: LatentAttention) -> Iterator[Tensor]:
    role, q_width = Role.ATTENTION, a.nope_head_dim + a.rope_head_dim
    row = a.kv_lora_rank + a.rope_head_dim
    if a.q_lora_rank:
        yield whole("q_a", role, a.q_lora_rank, hidden)
        yield vector("q_a_norm", a.q_lora_rank)
    q_input = a.q_lora_rank or hidden
    yield matrix("q_b", role, a.heads, q_width, q_input)
    yield whole("kv_a", role, row, hidden)
    yield vector("kv_a_norm", a.kv_lora_rank)
    if a.gated:
        yield matrix("gate", role, a.heads, a.value_dim, hidden)
    yield from _direct_output(hidden, a) if a.direct else _latent_output(hidden, a)
    if a.index_head_dim:
        yield whole("index_q", role, a.index_heads * a.index_head_dim, q_input)
        yield whole("index_k", role, a.index_head_dim, hidden)
        yield vector("index_weights", a.index_heads * hidden, role=role)


def _latent_output(hidden: int, a: LatentAttention) -> Iterator[Tensor]:
    role, width = Role.ATTENTION, a.heads * a.value_dim
    yield matrix("kv_b", role, a.heads, a.nope_head_dim + a.value_dim, a.kv_lora_rank)
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
    yield matrix("o_a", Role.ATTENTION, groups, a.output_lora_rank, width)
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
    yield matrix("in", role, a.value_heads, (values + a.conv_dim) // a.value_heads, hidden)
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
        yield vector("router", feed.experts * hidden, role=Role.ROUTER)
        width = feed.latent or hidden
        for tensor in _feed(Role.EXPERT, width, feed.intermediate, feed.gated):
            yield msgspec.structs.replace(tensor, experts=feed.experts, cut=Cut.EXPERTS)
        if feed.latent:
            yield whole("latent_in", Role.SHARED_EXPERT, feed.latent, hidden)
            yield whole("latent_out", Role.SHARED_EXPERT, hidden, feed.latent)
        if feed.shared_intermediate:
            yield from _feed(Role.SHARED_EXPERT, hidden, feed.shared_intermediate, feed.gated)


def _feed(role: Role, hidden: int, intermediate: int, gated: bool) -> Iterator[Tensor]:
    yield matrix("up", role, intermediate, 2 if gated else 1, hidden)
    yield Tensor(
        name="down",
        role=role,
        units=intermediate,
        unit_parameters=hidden,
        input_width=intermediate,
    )
