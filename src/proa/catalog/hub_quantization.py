"""How a checkpoint was quantised, from its config.json or hf_quant_config.json."""

from collections.abc import Mapping

from proa.catalog.hub_fields import HubFields
from proa.catalog.hub_unquantized import Unquantized, unquantized_parts
from proa.domain.llm import Quantization, WeightFormat
from proa.errors import InputError

_BY_ALGORITHM = {
    "FP8": WeightFormat.FP8,
    "FP8_PER_CHANNEL_PER_TOKEN": WeightFormat.FP8,
    "FP8_PB_WO": WeightFormat.FP8,
    "FP8_BLOCK_SCALES": WeightFormat.FP8,
    "MXFP8": WeightFormat.FP8,
    "NVFP4": WeightFormat.NVFP4,
    "W4A16_NVFP4": WeightFormat.NVFP4,
    "NVFP4_AWQ": WeightFormat.NVFP4,
    "MXFP4": WeightFormat.MXFP4,
    "W4A8_MXFP4_FP8": WeightFormat.MXFP4,
    "W4A16_AWQ": WeightFormat.INT4,
    "W4A8_AWQ": WeightFormat.INT4,
    "W4A16_GPTQ": WeightFormat.INT4,
    "W4A16": WeightFormat.INT4,
    "W8A16": WeightFormat.INT8,
    "INT8_SQ": WeightFormat.INT8,
    "W8A8_SQ_PER_CHANNEL": WeightFormat.INT8,
}
_GROUPS = {WeightFormat.NVFP4: 16, WeightFormat.MXFP4: 32}
"""Numbers that share a scale by the definition of the format."""


def quantization_of(
    fields: HubFields, quant_config: Mapping[str, object] | None = None
) -> Quantization | None:
    """What the checkpoint says of itself; None for whole weights.

    Raises:
        InputError: a method or format that is not known.
    """
    table = _table(fields, quant_config)
    if not table:
        return None
    method = str(table.get("quant_method") or "modelopt").lower()
    told, group, rest, block = _format(fields, method, table)
    if told is None:
        return None
    left = unquantized_parts(fields, table)
    return Quantization(
        method=method,
        format=told,
        group_size=group,
        attention=not left.attention,
        attention_output=None if left.attention_output is None else not left.attention_output,
        linear_attention=not left.linear_attention,
        shared_experts=not left.shared_experts,
        dense_feed=not left.dense_feed,
        head=_head(method, table, left),
        block=block,
        rest=rest,
        kv_cache=_kv_cache(table),
    )


def _kv_cache(table: Mapping[str, object]) -> WeightFormat | None:
    """What the checkpoint has scales for; of other formats than fp8 none is known to be served."""
    scheme = table.get("kv_cache_scheme")
    eight = isinstance(scheme, Mapping) and scheme.get("num_bits") == 8
    if str(table.get("kv_cache_quant_algo")).upper() == "FP8" or eight:
        return WeightFormat.FP8
    return None


def _table(fields: HubFields, quant_config: Mapping[str, object] | None) -> Mapping[str, object]:
    if quant_config:
        nested = quant_config.get("quantization")
        return nested if isinstance(nested, Mapping) else quant_config
    return fields.table("quantization_config", "compression_config")


def _head(method: str, table: Mapping[str, object], left: Unquantized) -> bool:
    """The LM head is left whole, unless the checkpoint's maker says that it was quantised."""
    if "lm_head" in table:
        return bool(table["lm_head"])
    return method == "modelopt" and left.listed and not left.head


_Told = tuple[WeightFormat | None, int | None, WeightFormat | None, int | None]


def _format(fields: HubFields, method: str, table: Mapping[str, object]) -> _Told:
    """Format, numbers to a scale, format of what is no routed expert, side of blocks."""
    if method == "modelopt" or "quant_algo" in table:
        return _modelopt(fields, table)
    if method == "compressed-tensors":
        return _compressed(fields, table)
    if method in ("fp8", "fbgemm_fp8"):
        return _fp8(fields, table)
    if method == "mxfp4":
        return WeightFormat.MXFP4, 32, None, None
    if method in ("awq", "gptq", "auto-round", "intel/auto-round", "awq_marlin", "gptq_marlin"):
        bits = table.get("bits", table.get("w_bit", 4))
        group = table.get("group_size", table.get("q_group_size"))
        told = _by_bits(fields, bits, floating=False)
        return told, group if isinstance(group, int) and group > 0 else None, None, None
    if method == "bitsandbytes":
        return (
            (WeightFormat.INT4, 64, None, None)
            if table.get("load_in_4bit")
            else (WeightFormat.INT8, None, None, None)
        )
    accepted = (
        "fp8, fbgemm_fp8, compressed-tensors, awq, gptq, auto-round, mxfp4, modelopt, bitsandbytes"
    )
    raise InputError(
        f"{fields.model}: config.json: `quantization_config.quant_method` = {method!r}: "
        f"accepted is {accepted}"
    )


def _fp8(fields: HubFields, table: Mapping[str, object]) -> _Told:
    sides = table.get("weight_block_size")
    block = int(sides[0]) if isinstance(sides, list | tuple) and sides else None
    told, rest, group = WeightFormat.FP8, None, block * block if block else None
    if fields.text("expert_dtype") == "fp4":  # DeepSeek-V4
        told, rest, group = WeightFormat.MXFP4, WeightFormat.FP8, 32
    return told, group, rest, block


def _modelopt(fields: HubFields, table: Mapping[str, object]) -> _Told:
    algorithm = str(table.get("quant_algo")).upper()
    group = table.get("group_size")
    if algorithm == "NONE":
        return None, None, None, None
    rest = None
    if algorithm == "MIXED_PRECISION":
        algorithm, rest = _mixed(fields, table)
    told = _by_algorithm(fields, algorithm)
    size = _GROUPS.get(told) or (group if isinstance(group, int) and group > 0 else None)
    return told, size, rest, None


def _mixed(fields: HubFields, table: Mapping[str, object]) -> tuple[str, WeightFormat | None]:
    """The algorithm of most layers, and the format of the others."""
    counted: dict[str, int] = {}
    layers = table.get("quantized_layers")
    for row in layers.values() if isinstance(layers, Mapping) else ():
        algorithm = str(row.get("quant_algo")).upper() if isinstance(row, Mapping) else ""
        counted[algorithm] = counted.get(algorithm, 0) + 1
    if not counted:
        raise InputError(f"{fields.model}: hf_quant_config.json lacks `quantized_layers`")
    bits = {name: _BITS[_by_algorithm(fields, name)] for name in counted}
    ordered = sorted(counted, key=lambda name: (bits[name], -counted[name]))
    rest = _by_algorithm(fields, ordered[1]) if len(ordered) > 1 else None
    return ordered[0], rest


_BITS = {
    WeightFormat.INT4: 4,
    WeightFormat.NVFP4: 4,
    WeightFormat.MXFP4: 4,
    WeightFormat.INT8: 8,
    WeightFormat.FP8: 8,
    WeightFormat.BF16: 16,
    WeightFormat.FP32: 32,
}


def _by_algorithm(fields: HubFields, algorithm: str) -> WeightFormat:
    told = _BY_ALGORITHM.get(algorithm)
    if told is None:
        raise InputError(
            f"{fields.model}: hf_quant_config.json: `quant_algo` = {algorithm!r}: "
            f"accepted is {', '.join(_BY_ALGORITHM)}, MIXED_PRECISION"
        )
    return told


def _compressed(fields: HubFields, table: Mapping[str, object]) -> _Told:
    groups = table.get("config_groups")
    weights = []
    for row in groups.values() if isinstance(groups, Mapping) else ():
        told = row.get("weights") if isinstance(row, Mapping) else None
        if isinstance(told, Mapping):
            weights.append((told, str(row.get("format") or table.get("format") or "")))
    if not weights:
        return None, None, None, None
    formats = [(_compressed_format(fields, told, form), told) for told, form in weights]
    formats.sort(key=lambda pair: _BITS[pair[0]])
    main, told = formats[0]
    rest = formats[1][0] if len(formats) > 1 and formats[1][0] != main else None
    sides = told.get("block_structure")
    block = int(sides[0]) if isinstance(sides, list | tuple) and sides else None
    size = told.get("group_size")
    group = size if isinstance(size, int) and size > 0 else None
    return main, block * block if block else group, rest, block


def _compressed_format(fields: HubFields, weights: Mapping[str, object], form: str) -> WeightFormat:
    floating = weights.get("type") == "float"
    if floating and weights.get("num_bits") == 4:
        return WeightFormat.MXFP4 if "mxfp4" in form else WeightFormat.NVFP4
    return _by_bits(fields, weights.get("num_bits"), floating=floating)


def _by_bits(fields: HubFields, bits: object, *, floating: bool) -> WeightFormat:
    if bits == 8:
        return WeightFormat.FP8 if floating else WeightFormat.INT8
    if bits == 4:
        return WeightFormat.INT4
    raise InputError(
        f"{fields.model}: config.json: `quantization_config` has weights of {bits!r} bits: "
        "accepted is 4 or 8"
    )
