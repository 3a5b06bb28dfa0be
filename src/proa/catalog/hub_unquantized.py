"""Which parts of a quantised checkpoint were left whole, from its list of modules."""

import re
from collections.abc import Mapping

import msgspec

from proa.catalog.hub_fields import HubFields

_LISTS = ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers")
_LAYER = re.compile(r"layers\.(\d+)(?![\d])")
_MOST = 0.5
"""A part counts as whole if more than this share of the layers that could have it are named."""

_NORMS = re.compile(r"norm|indexer|rotary|\bsinks|conv1d|_gate$|\.gate$|router|visual|vision|mtp")
_ROLES = {
    "linear_attention": re.compile(r"linear_attn|mixer\.(in|out)_proj|mamba"),
    "attention_output": re.compile(r"(?<!linear_attn)\.(o_proj|wo_[ab]|wo)\b"),
    "attention": re.compile(
        r"self_attn|attention|(^|\W)attn|mixer\.[qkv]_proj|[.*][qkv]_proj|qkv_proj"
    ),
    "shared_experts": re.compile(r"shared_expert|shared_mlp"),
    "dense_feed": re.compile(r"(mlp|feed_forward|ffn)(\\?\.\(?(gate|up|down|gate_up)|\*$|\.\*$|$)"),
    "head": re.compile(r"lm_head|(^|\W)head$|output_layer"),
}


class Unquantized(msgspec.Struct, frozen=True, kw_only=True):
    """True where a part was left whole; `attention_output` None where it follows `attention`."""

    attention: bool
    attention_output: bool | None
    linear_attention: bool
    shared_experts: bool
    dense_feed: bool
    head: bool
    listed: bool


def unquantized_parts(fields: HubFields, table: Mapping[str, object]) -> Unquantized:
    """What the module names of the checkpoint's list say, role by role."""
    names = _names(table)
    layers = fields.whole_or_none("num_hidden_layers", "n_layer", "num_layers") or 1
    seen: dict[str, set[int]] = {role: set() for role in _ROLES}
    everywhere = set(range(layers))
    for name in names:
        at = _LAYER.search(name)
        for role in _roles_of(name):
            seen[role] |= {int(at[1])} if at else everywhere
    whole = {role: _is_most(fields, role, named, layers) for role, named in seen.items()}
    whole["attention"] = whole["attention"] or bool(whole["attention_output"] and not names)
    partly = _output_is_quantized(names) and whole["attention"]
    return Unquantized(
        attention=whole["attention"],
        attention_output=False if partly else None,
        linear_attention=whole["linear_attention"],
        shared_experts=whole["shared_experts"],
        dense_feed=whole["dense_feed"],
        head=whole["head"],
        listed=bool(names),
    )


def _names(table: Mapping[str, object]) -> list[str]:
    for key in _LISTS:
        found = table.get(key)
        if isinstance(found, list | tuple):
            return [str(name).removeprefix("re:") for name in found]
    return []


def _roles_of(name: str) -> list[str]:
    if _NORMS.search(name):
        return []
    return [role for role, pattern in _ROLES.items() if pattern.search(name)]


def _is_most(fields: HubFields, role: str, named: set[int], layers: int) -> bool:
    able = layers
    if role == "dense_feed":
        able = fields.whole_or_none("first_k_dense_replace") or layers
    every = fields.whole_or_none("full_attention_interval")
    if role == "attention" and every:
        able = layers // every
    pattern = fields.text("hybrid_override_pattern")
    if pattern and role in ("attention", "attention_output"):
        able = pattern.count("*")
    return len(named) > _MOST * able


def _output_is_quantized(names: list[str]) -> bool:
    """MLA checkpoints may name each matrix but the last one."""
    attended = [name for name in names if re.search(r"self_attn\.(q|kv)_[ab]_proj", name)]
    return bool(attended) and not any(re.search(r"self_attn(\.o_proj|\*|\.\*|$)", n) for n in names)
