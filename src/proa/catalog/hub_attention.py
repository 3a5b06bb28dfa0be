"""The attention of one layer of a hub config.json."""

from proa.catalog.hub_fields import HubFields
from proa.catalog.hub_kinds import BIASED, QUERY_KEY_NORM
from proa.catalog.hub_linear import is_linear, linear_attention
from proa.catalog.hub_windows import window_of
from proa.domain.llm import Attention, GroupedAttention, LatentAttention


def attention_of(fields: HubFields, at: int, layers: int) -> Attention:
    """What layer `at` (from 0) of `layers` has.

    Raises:
        InputError: a field is missing or no number.
    """
    if is_linear(fields, at, layers):
        return linear_attention(fields)
    if fields.kind == "deepseek_v4":
        return _direct(fields, at)
    if fields.whole_or_none("kv_lora_rank"):
        return _latent(fields, at, layers)
    return _grouped(fields, at, layers)


def _latent(fields: HubFields, at: int, layers: int) -> LatentAttention:
    own = (fields.per_layer("indexer_types", layers=layers) or ["full"] * layers)[at] == "full"
    return LatentAttention(
        heads=fields.whole("num_attention_heads"),
        kv_lora_rank=fields.whole("kv_lora_rank"),
        rope_head_dim=fields.whole("qk_rope_head_dim"),
        nope_head_dim=fields.whole("qk_nope_head_dim"),
        value_dim=fields.whole("v_head_dim"),
        q_lora_rank=fields.whole_or_none("q_lora_rank") or None,
        index_heads=(fields.whole_or_none("index_n_heads") or 0) if own else 0,
        index_head_dim=(fields.whole_or_none("index_head_dim") or 0) if own else 0,
        index_top_k=fields.whole_or_none("index_topk") or 0,
        gated=fields.flag("mla_use_output_gate"),
    )


def _direct(fields: HubFields, at: int) -> LatentAttention:
    ratios = fields.get("compress_ratios")
    ratio = int(ratios[at]) if isinstance(ratios, list | tuple) and at < len(ratios) else 1
    indexed = ratio == _INDEXED_RATIO
    rope, row = fields.whole("qk_rope_head_dim"), fields.whole("head_dim")
    return LatentAttention(
        heads=fields.whole("num_attention_heads"),
        kv_lora_rank=row - rope,
        rope_head_dim=rope,
        nope_head_dim=row - rope,
        value_dim=row,
        q_lora_rank=fields.whole("q_lora_rank"),
        index_heads=fields.whole("index_n_heads") if indexed else 0,
        index_head_dim=fields.whole("index_head_dim") if indexed else 0,
        index_top_k=fields.whole("index_topk") if indexed else 0,
        direct=True,
        compress_ratio=ratio,
        window=fields.whole_or_none("sliding_window"),
        output_groups=fields.whole("o_groups"),
        output_lora_rank=fields.whole("o_lora_rank"),
    )


_INDEXED_RATIO = 4
"""DeepSeek-V4 picks tokens in the layers that keep every fourth row; the others read all rows."""


def _grouped(fields: HubFields, at: int, layers: int) -> GroupedAttention:
    window = window_of(fields, at, layers)
    heads, kv_heads, head_dim, value_dim = _shape(fields, window is not None)
    full_kv_equal = fields.flag("attention_k_eq_v") and window is None
    return GroupedAttention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=None if value_dim == head_dim else value_dim,
        window=window,
        shares_kv=shares_kv(fields, at, layers),
        bias=fields.flag("attention_bias", "qkv_bias", "use_qkv_bias") or fields.kind in BIASED,
        qk_norm=fields.flag("use_qk_norm", "qk_norm") or fields.kind in QUERY_KEY_NORM,
        gated=fields.flag("attn_output_gate", "attention_output_gate")
        or fields.kind == "qwen3_next",
        value_is_key=full_kv_equal,
    )


def _shape(fields: HubFields, windowed: bool) -> tuple[int, int, int, int | None]:
    """Heads, KV heads, head dimension, value dimension: some models have others in a window."""
    heads = fields.whole("num_attention_heads", "n_head", "n_heads")
    kv_heads = fields.whole_or_none("num_key_value_heads", "num_kv_heads", "n_head_kv")
    kv_heads = kv_heads or fields.whole_or_none("multi_query_group_num", "num_attention_groups")
    head_dim = fields.whole_or_none("head_dim", "attention_head_dim", "kv_channels")
    head_dim = head_dim or fields.whole("hidden_size", "n_embd", "d_model") // heads
    value_dim = fields.whole_or_none("v_head_dim")
    if windowed:
        other = fields.table("attention_other_setting")
        heads = fields.whole_or_none("swa_num_attention_heads") or _count(
            other, "num_attention_heads", heads
        )
        kv_heads = fields.whole_or_none("swa_num_key_value_heads") or _count(
            other, "num_attention_groups", kv_heads or heads
        )
        head_dim = fields.whole_or_none("swa_head_dim") or head_dim
        value_dim = fields.whole_or_none("swa_v_head_dim") or value_dim
    elif fields.kind == "gemma4":
        kv_heads = fields.whole_or_none("num_global_key_value_heads") or kv_heads
        head_dim = fields.whole_or_none("global_head_dim") or head_dim
    return heads, kv_heads or heads, head_dim, value_dim


def _count(table: object, name: str, default: int) -> int:
    found = table.get(name) if isinstance(table, dict) else None
    return found if isinstance(found, int) else default


def shares_kv(fields: HubFields, at: int, layers: int) -> bool:
    """True if layer `at` reads the cache of an earlier one (Gemma 3n and 4, Hunyuan)."""
    last = fields.whole_or_none("num_kv_shared_layers")
    if last:
        return at >= layers - last
    factor = fields.whole_or_none("cla_share_factor")
    return bool(factor and fields.flag("use_cla") and at % factor)
