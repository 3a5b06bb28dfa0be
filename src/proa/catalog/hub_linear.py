"""Linear attention of a hub config.json: which layers have it, and its shape."""

from proa.catalog.hub_fields import HubFields
from proa.domain.llm import LinearAttention

_LINEAR = ("linear_attention", "linear", "mamba", "mamba2", "kda", "lightning_attention")


def is_linear(fields: HubFields, at: int, layers: int) -> bool:
    """True if layer `at` (from 0) keeps a state instead of a cache."""
    types = fields.per_layer("layer_types", "layers_block_type", layers=layers)
    if types and any(kind in _LINEAR for kind in types):
        return types[at] in _LINEAR
    numbered = fields.table("linear_attn_config").get("kda_layers")
    if isinstance(numbered, list | tuple):
        return at + 1 in numbered
    listed = fields.per_layer("attn_type_list", layers=layers)
    if listed:  # MiniMax-01: 0 is lightning attention
        return listed[at] == 0
    every = fields.whole_or_none("full_attention_interval")
    return bool(every) and (at + 1) % (every or 1) != 0


def linear_attention(fields: HubFields) -> LinearAttention:
    """Its shape: gated delta net, Kimi delta attention, Mamba-2 or lightning attention.

    Raises:
        InputError: a field is missing.
    """
    if fields.table("linear_attn_config"):
        return _kimi_delta(HubFields(fields.table("linear_attn_config"), model=fields.model))
    if fields.get("linear_num_value_heads") is not None:
        return _gated_delta(fields)
    if (
        fields.get("mamba_num_heads", "mamba_n_heads", "mamba_d_state", "ssm_state_size")
        is not None
    ):
        return mamba(fields)
    return _lightning(fields)


def _gated_delta(fields: HubFields) -> LinearAttention:
    key_heads = fields.whole("linear_num_key_heads")
    value_heads = fields.whole("linear_num_value_heads")
    key_dim, value_dim = fields.whole("linear_key_head_dim"), fields.whole("linear_value_head_dim")
    return LinearAttention(
        form="gated_delta",
        value_heads=value_heads,
        key_heads=key_heads,
        head_dim=value_dim,
        state_dim=key_dim,
        conv_kernel=fields.whole("linear_conv_kernel_dim"),
        conv_dim=2 * key_heads * key_dim + value_heads * value_dim,
        state_dtype=fields.text("mamba_ssm_dtype") or "auto",
    )


def _kimi_delta(table: HubFields) -> LinearAttention:
    heads, head_dim = table.whole("num_heads"), table.whole("head_dim")
    return LinearAttention(
        form="kda",
        value_heads=heads,
        key_heads=heads,
        head_dim=head_dim,
        state_dim=head_dim,
        conv_kernel=table.whole("short_conv_kernel_size"),
        conv_dim=3 * heads * head_dim,
        state_dtype="float32",
    )


def mamba(fields: HubFields) -> LinearAttention:
    """Mamba-2 of Nemotron-H, Granite 4 and their like.

    Raises:
        InputError: a field is missing.
    """
    heads = fields.whole("mamba_num_heads", "mamba_n_heads")
    head_dim = fields.whole("mamba_head_dim", "mamba_d_head")
    state = fields.whole("ssm_state_size", "mamba_d_state")
    groups = fields.whole("n_groups", "mamba_n_groups")
    return LinearAttention(
        form="mamba2",
        value_heads=heads,
        key_heads=groups,
        head_dim=head_dim,
        state_dim=state,
        conv_kernel=fields.whole("conv_kernel", "mamba_d_conv"),
        conv_dim=heads * head_dim + 2 * groups * state,
        state_dtype=fields.text("mamba_ssm_cache_dtype") or "auto",
    )


def _lightning(fields: HubFields) -> LinearAttention:
    heads, head_dim = fields.whole("num_attention_heads"), fields.whole("head_dim")
    return LinearAttention(
        form="lightning",
        value_heads=heads,
        key_heads=heads,
        head_dim=head_dim,
        state_dim=head_dim,
        conv_kernel=1,
        conv_dim=0,
        state_dtype="float32",
    )
