"""What a model loads beside its decoder layers: vision and audio towers, per-layer embeddings."""

from collections.abc import Mapping

from proa.catalog.hub_fields import HubFields

_DRAFT = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")


def draft_layers(fields: HubFields) -> int:
    """Layers that only guess ahead (multi-token prediction)."""
    return fields.whole_or_none(*_DRAFT) or 0


def extra_parameters(fields: HubFields) -> int:
    """Numbers outside the decoder, from the config's shapes (towers: to about 5 %).

    tower = layers x (4 hidden^2 + 2 or 3 x hidden x intermediate) + patches + projector
    """
    return _tower(fields, "vision_config") + _per_layer_embeddings(fields)


def _tower(fields: HubFields, name: str) -> int:
    config = fields.outer.get(name)
    if not isinstance(config, Mapping):
        return 0
    tower = HubFields(config, model=fields.model)
    hidden = tower.whole_or_none("vt_hidden_size", "hidden_size", "embed_dim", "width")
    layers = tower.whole_or_none("depth", "vt_num_hidden_layers", "num_hidden_layers", "layers")
    width = tower.whole_or_none("vt_intermediate_size", "intermediate_size")
    if not hidden or not layers:
        return 0
    width = width or int(hidden * float(str(tower.get("mlp_ratio") or 4)))
    gated = tower.text("hidden_act", "hidden_activation") == "silu" or "gemma4" in tower.kind
    gated = gated or tower.kind == "pixtral"
    attended = tower.whole_or_none("qkv_hidden_size") or hidden
    layer = 4 * hidden * attended + (3 if gated else 2) * hidden * width
    patch = tower.whole_or_none("patch_size") or 14
    frames = tower.whole_or_none("temporal_patch_size") or 1
    patches = 3 * frames * patch * patch * hidden
    seen = tower.whole_or_none("num_position_embeddings", "position_embedding_size") or 0
    return layers * layer + patches + seen * hidden + _projector(fields, tower, hidden)


def _projector(fields: HubFields, tower: HubFields, hidden: int) -> int:
    out = fields.whole("hidden_size", "n_embd", "d_model")
    merge = tower.whole_or_none("spatial_merge_size")
    if merge is None:
        return hidden * out
    merged = hidden * merge * merge
    deep = tower.get("deepstack_visual_indexes")
    mergers = 1 + (len(deep) if isinstance(deep, list | tuple) else 0)
    return mergers * (merged * merged + merged * out)


def _per_layer_embeddings(fields: HubFields) -> int:
    """Gemma 3n and 4: each layer has embeddings of its own, and two small matrices."""
    width = fields.whole_or_none("hidden_size_per_layer_input")
    if not width:
        return 0
    layers, hidden = fields.whole("num_hidden_layers"), fields.whole("hidden_size")
    vocab = fields.whole("vocab_size_per_layer_input", "vocab_size")
    return vocab * layers * width + layers * width * hidden + 2 * layers * hidden * width
