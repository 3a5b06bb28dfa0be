"""How far a layer looks back: sliding windows and chunks of a hub config.json."""

from proa.catalog.hub_fields import HubFields

_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "cohere2": 4, "exaone4": 4, "gpt_oss": 2}
"""One layer in so many looks back all the way, where config.json has no list."""

_ALL_WINDOWED = frozenset({"mistral", "mixtral", "phi3", "phimoe", "starcoder2", "ministral"})
"""Families in which a window, if there is one, holds for all layers."""

_WINDOWED = ("sliding_attention", "chunked_attention", "local", "sliding")


def window_of(fields: HubFields, at: int, layers: int) -> int | None:
    """Tokens that layer `at` looks back, None for all of them.

    Chunked attention (Llama 4) counts as a window: its layers keep no more than a chunk.
    """
    size = fields.whole_or_none("sliding_window", "sliding_window_size", "attention_chunk_size")
    if not size or not _is_windowed(fields, at, layers):
        return None
    longest = fields.whole_or_none("max_position_embeddings")
    return None if longest and size >= longest else size


def _is_windowed(fields: HubFields, at: int, layers: int) -> bool:
    types = fields.per_layer("layer_types", layers=layers)
    if types:
        return types[at] in _WINDOWED
    numbered = fields.per_layer("hybrid_layer_pattern", layers=layers)
    if numbered:  # MiMo-V2: 1 is a window
        return numbered[at] == 1
    if fields.kind == "llama4":
        return _chunked(fields, at, layers)
    if fields.kind.startswith("qwen"):
        first = fields.whole_or_none("max_window_layers") or 0
        return fields.flag("use_sliding_window") and at >= first
    if fields.kind in _ALL_WINDOWED:
        return True
    return _by_pattern(fields, at)


def _chunked(fields: HubFields, at: int, layers: int) -> bool:
    rotary = fields.per_layer("no_rope_layers", layers=layers)
    if rotary:
        return bool(rotary[at])
    return (at + 1) % (fields.whole_or_none("no_rope_layer_interval") or 4) != 0


def _by_pattern(fields: HubFields, at: int) -> bool:
    letters = fields.text("sliding_window_pattern")
    if letters:  # EXAONE 4: L is local, G global
        return letters[at % len(letters)].upper() == "L"
    every = _EVERY.get(fields.kind)
    told = fields.get("sliding_window_pattern", "_sliding_window_pattern")
    if isinstance(told, int) and told > 0:
        every = told
    return every is not None and (at + 1) % every != 0
