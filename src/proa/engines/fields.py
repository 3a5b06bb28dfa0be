"""Single fields out of engines' JSON answers; what is missing or of another type is None."""

import msgspec

UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Count(msgspec.Struct):
    count: int | None = None
    tokens: list[msgspec.Raw] | None = None


_count = msgspec.json.Decoder(_Count)
_list = msgspec.json.Decoder(list[msgspec.Raw])


def object_at(body: bytes) -> dict[str, msgspec.Raw]:
    """The fields of a JSON object, not decoded; none if it is no object."""
    try:
        return _fields.decode(body)
    except UNREADABLE:
        return {}


def text_at(body: bytes, field: str) -> str | None:
    """A field that is a text."""
    return plain_text(object_at(body).get(field))


def plain_text(raw: msgspec.Raw | None) -> str | None:
    value = _decoded(raw)
    return value if isinstance(value, str) else None


def positive_count(raw: msgspec.Raw | None) -> int | None:
    """A whole number above zero: engines write 0 or -1 for "no limit" and "not known"."""
    value = _decoded(raw)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def truth(raw: msgspec.Raw | None) -> bool | None:
    """A truth value."""
    value = _decoded(raw)
    return value if isinstance(value, bool) else None


def plain_values(
    fields: dict[str, msgspec.Raw], *names: str
) -> dict[str, str | int | float | bool]:
    """Those of the named fields that are a text, a number or a truth value."""
    values = ((name, _decoded(fields.get(name))) for name in names)
    return {name: value for name, value in values if isinstance(value, str | int | float)}


def count_of_tokens(body: bytes) -> int | None:
    """`count`, or the length of `tokens`, in the answer of a tokenize endpoint."""
    try:
        reply = _count.decode(body)
    except UNREADABLE:
        return None
    return len(reply.tokens) if reply.count is None and reply.tokens is not None else reply.count


def count_of_list(body: bytes) -> int | None:
    """The length of a JSON list."""
    try:
        return len(_list.decode(body))
    except UNREADABLE:
        return None


def _decoded(raw: msgspec.Raw | None) -> object:
    text = b"" if raw is None else bytes(raw)
    if text[:1] in (b"", b"{", b"["):
        return None
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return None
