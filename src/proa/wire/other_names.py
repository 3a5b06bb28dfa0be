"""Names of models that an engine may read in a body beside the one that the gateway reads.

Some take `Model` for `model` (Go's decoder), the last of several parts of a form, or a LoRA
adapter under a key of their own (SGLang `lora_path`, llama.cpp `lora`, TGI `adapter_id`). Who
limits models must look at these, too. Of a JSON key that is there twice all take the last.
"""

import msgspec

from proa.wire.fields import MODEL_PART

_ADAPTER_KEYS = ("lora_path", "lora", "lora_id", "adapter_id")
_LONGEST_PART = 8192
_DISPOSITION = b"content-disposition:"

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_any = msgspec.json.Decoder().decode


def other_names(body: bytes) -> list[str]:
    """All of them; an adapter that is told by anything but its name is given as JSON."""
    fields = _fields(body)
    if fields is None:
        return _of_form(body)
    raw = [value for key, value in fields.items() if key != "model" and key.casefold() == "model"]
    nested = _fields(bytes(fields["parameters"])) if "parameters" in fields else None
    for each in (fields, nested or {}):
        raw += [each[key] for key in _ADAPTER_KEYS if key in each]
    return [name for name in map(_name, raw) if name]


def _fields(body: bytes) -> dict[str, msgspec.Raw] | None:
    try:
        return _object(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _name(raw: msgspec.Raw) -> str:
    try:
        value = _any(raw)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        value = True
    if isinstance(value, str):
        return value
    return bytes(raw).decode("utf-8", "replace")[:64] if value else ""


def _of_form(body: bytes) -> list[str]:
    """The values of all `model` parts, wherever they are."""
    found, lowered = [], body.lower()
    at = lowered.find(_DISPOSITION)
    while at >= 0:
        part = MODEL_PART.match(body[at : at + _LONGEST_PART])
        if part:
            found.append(part.group(1).decode("utf-8", "replace"))
        at = lowered.find(_DISPOSITION, at + 1)
    return found
