"""Models whose layers are told one by one: Nemotron-H, and those found by architecture search."""

from collections.abc import Mapping

from proa.catalog.hub_attention import attention_of
from proa.catalog.hub_feed import expert_feed, is_gated
from proa.catalog.hub_fields import HubFields
from proa.catalog.hub_linear import mamba
from proa.domain.llm import Attention, DenseFeed, Feed, GroupedAttention, NoAttention, NoFeed
from proa.errors import InputError

_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}

Layer = tuple[Attention, Feed]


def hybrid_layers(fields: HubFields) -> list[Layer] | None:
    """All layers in order, or None for models of another kind.

    Raises:
        InputError: a letter, a block or a field that cannot be read.
    """
    blocks = fields.get("block_configs")
    if isinstance(blocks, list | tuple):
        return [_searched(fields, block) for block in blocks]
    if fields.kind != "nemotron_h":
        return None
    pattern = fields.text("hybrid_override_pattern")
    kinds = fields.get("layers_block_type") or [_LETTERS.get(letter, letter) for letter in pattern]
    if not isinstance(kinds, list | tuple) or not kinds:
        raise InputError(
            f"{fields.model}: config.json lacks `hybrid_override_pattern` (or `layers_block_type`)"
        )
    return [_nemotron(fields, str(kind)) for kind in kinds]


def _nemotron(fields: HubFields, kind: str) -> Layer:
    if kind == "mamba":
        return mamba(fields), NoFeed()
    if kind == "attention":
        return attention_of(fields, 0, 0), NoFeed()
    if kind == "mlp":
        size = fields.whole("intermediate_size")
        return NoAttention(), DenseFeed(intermediate=size, gated=is_gated(fields))
    if kind == "moe":
        return NoAttention(), expert_feed(fields)
    told = f"{fields.model}: config.json: `hybrid_override_pattern` has {kind!r}"
    raise InputError(f"{told}: accepted is {', '.join(_LETTERS)}")


def _searched(fields: HubFields, block: object) -> Layer:
    """A block of Nemotron NAS: each layer has its own KV heads and width, or lacks the part."""
    attention = _part(block, "attention")
    feed = _part(block, "ffn")
    heads, hidden = fields.whole("num_attention_heads"), fields.whole("hidden_size")
    return _searched_attention(attention, heads, hidden // heads), _searched_feed(feed, hidden)


def _searched_attention(part: Mapping[str, object], heads: int, head_dim: int) -> Attention:
    group = part.get("n_heads_in_group")
    if part.get("no_op") or not isinstance(group, int):
        return NoAttention()
    window = part.get("window_length")
    return GroupedAttention(
        heads=heads,
        kv_heads=heads // group,
        head_dim=head_dim,
        window=window if isinstance(window, int) else None,
    )


def _searched_feed(part: Mapping[str, object], hidden: int) -> Feed:
    size = part.get("intermediate_size")
    multiple = part.get("ffn_mult")
    if part.get("no_op"):
        return NoFeed()
    if isinstance(size, int):
        return DenseFeed(intermediate=size)
    if not isinstance(multiple, int | float):
        return NoFeed()
    wanted = int(2 * multiple * hidden / 3)
    return DenseFeed(intermediate=-(-wanted // _WIDTH_STEP) * _WIDTH_STEP)


_WIDTH_STEP = 256
"""Widths are rounded up to it, as in the model's own `_ffn_mult_to_intermediate_size`."""


def _part(block: object, name: str) -> Mapping[str, object]:
    found = block.get(name) if isinstance(block, Mapping) else None
    return found if isinstance(found, Mapping) else {"no_op": True}
