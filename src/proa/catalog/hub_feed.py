"""The feed-forward of one layer of a hub config.json."""

from proa.catalog.hub_attention import shares_kv
from proa.catalog.hub_fields import HubFields
from proa.catalog.hub_kinds import TWO_MATRICES
from proa.domain.llm import DenseFeed, ExpertFeed, Feed

_EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
_CHOSEN = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "moe_top_k",
    "moe_topk",
    "experts_per_token",
    "moe_k",
)
_SHARED = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "share_expert_dim",
    "shared_intermediate_size",
)


def feed_of(fields: HubFields, at: int, layers: int) -> Feed:
    """What layer `at` (from 0) of `layers` has.

    Raises:
        InputError: a field is missing or no number.
    """
    experts = _first(fields, _EXPERTS, at)
    if experts and experts > 1 and _is_sparse(fields, at, layers):
        return expert_feed(fields, at)
    size = _dense_size(fields, at, bool(experts))
    if fields.flag("use_double_wide_mlp") and shares_kv(fields, at, layers):  # Gemma 4 E2B
        size *= 2
    return DenseFeed(intermediate=size, gated=is_gated(fields))


def is_gated(fields: HubFields) -> bool:
    """True if the feed-forward has three matrices (SwiGLU and its like)."""
    return fields.kind not in TWO_MATRICES


def expert_feed(fields: HubFields, at: int = 0) -> ExpertFeed:
    """The mixture of experts that a layer has; the dense part beside it counts as shared.

    Raises:
        InputError: a field is missing or no number.
    """
    experts = _first(fields, _EXPERTS, at) or fields.whole(*_EXPERTS)
    size = _first(fields, ("moe_intermediate_size", "expert_hidden_dim", "moe_ffn_hidden_size"), at)
    chosen = _first(fields, _CHOSEN, at) or fields.whole(*_CHOSEN)
    intermediate = size or fields.whole("intermediate_size")
    return ExpertFeed(
        experts=experts,
        experts_per_token=chosen,
        intermediate=intermediate,
        shared_intermediate=_shared_size(fields, intermediate, at),
        gated=is_gated(fields),
        latent=fields.whole_or_none("moe_latent_size", "routed_expert_hidden_size") or None,
    )


def _shared_size(fields: HubFields, intermediate: int, at: int) -> int:
    if fields.kind == "llama4":
        return fields.whole("intermediate_size")
    if fields.flag("enable_moe_block"):  # Gemma 4: a dense feed-forward beside the experts
        return fields.whole("intermediate_size")
    told = fields.whole_or_none(*_SHARED)
    if told is not None:
        return told
    count = _first(
        fields,
        ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
        at,
    )
    return (count or 0) * intermediate


def _dense_size(fields: HubFields, at: int, mixed: bool) -> int:
    if mixed:
        size = fields.whole_or_none("dense_intermediate_size", "intermediate_size_mlp")
        if size:
            return size
    sizes = fields.get("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim")
    if isinstance(sizes, list | tuple):
        return int(sizes[at])
    if sizes is None and fields.get("n_embd") is not None:
        return 4 * fields.whole("n_embd")
    return fields.whole("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim")


def _is_sparse(fields: HubFields, at: int, layers: int) -> bool:
    listed = fields.per_layer("mlp_layer_types", layers=layers)
    if listed:
        return listed[at] == "sparse"
    listed = fields.per_layer("moe_layer_freq", "is_moe_layer", layers=layers)
    if listed:
        return bool(listed[at])
    numbered = fields.get("moe_layers", "moe_layers_enum")
    if isinstance(numbered, str) and numbered:
        return str(at) in numbered.replace(" ", "").split(",")
    if isinstance(numbered, list | tuple) and numbered:
        return at in numbered
    return _is_sparse_by_step(fields, at)


def _is_sparse_by_step(fields: HubFields, at: int) -> bool:
    if at < (fields.whole_or_none("first_k_dense_replace", "moe_layer_start_index") or 0):
        return False
    dense = fields.get("mlp_only_layers")
    if isinstance(dense, list | tuple) and at in dense:
        return False
    step = fields.whole_or_none("interleave_moe_layer_step", "decoder_sparse_step")
    if step is not None and step > 1:
        return (at + 1) % step == 0
    every = fields.whole_or_none("moe_layer_freq", "moe_layer_interval")
    return not every or at % every == 0


def _first(fields: HubFields, names: tuple[str, ...], at: int) -> int | None:
    """A count, or a layer's entry where the config has a list (Hunyuan)."""
    found = fields.get(*names)
    if isinstance(found, list | tuple):
        return int(found[min(at, len(found) - 1)])
    return fields.whole_or_none(*names)
