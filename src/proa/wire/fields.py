"""The few fields of a request body that the gateway reads, and the one that it may rewrite.

Values that are not rewritten stay byte-identical (64-bit seeds, 1.10). A body that
this reader refuses but an engine may accept (`"stream":"true"`, NaN, a byte order
mark) gives the defaults: it is forwarded untouched.
"""

import re

import msgspec


class RequestFields(msgspec.Struct, gc=False):
    """What was read; a body that is no JSON object, or not readable, gives the defaults.

    The APIs have three names for the limit on generated tokens.
    """

    model: str | None = None
    stream: bool | None = False
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    max_output_tokens: int | None = None


class _Texts(msgspec.Struct, gc=False):
    messages: msgspec.Raw = msgspec.Raw()
    prompt: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()
    system: msgspec.Raw = msgspec.Raw()
    text_input: msgspec.Raw = msgspec.Raw()


_typed = msgspec.json.Decoder(RequestFields).decode
_texts = msgspec.json.Decoder(_Texts).decode
_loose = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode
MODEL_PART = re.compile(
    rb'content-disposition:[ \t]*form-data;(?:[^\r\n]{0,256};)?[ \t]*name="?model"?[ \t;]*\r\n'
    rb"(?:[^\r\n]{1,512}+\r\n){0,8}+\r\n([^\r\n]{0,512}+)\r\n--",
    re.IGNORECASE,
)


def read_fields(body: bytes) -> RequestFields:
    """One decode of a JSON body."""
    try:
        return _typed(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _read_loosely(body)


def _read_loosely(body: bytes) -> RequestFields:
    try:
        fields = _loose(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return RequestFields()
    try:
        model = _string(fields["model"]) if "model" in fields else None
    except (msgspec.MsgspecError, ValueError):
        model = None
    return RequestFields(model, bytes(fields.get("stream", b"")) in (b"true", b'"true"', b"1"))


def prompt_values(body: bytes) -> list[msgspec.Raw]:
    """The raw JSON values that hold the prompt's text, for estimating its tokens."""
    try:
        texts = _texts(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return []
    found = (texts.messages, texts.prompt, texts.input, texts.system, texts.text_input)
    return [value for value in found if bytes(value)]


def replace_model(body: bytes, model: str) -> bytes | None:
    """The body with another `model`, every other value byte-identical; None when unreadable."""
    try:
        fields = _loose(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    fields["model"] = msgspec.Raw(msgspec.json.encode(model))
    return msgspec.json.encode(fields)


def multipart_model(body: bytes) -> str | None:
    """The `model` field of a multipart form; only its first and last 64 KiB are searched."""
    found = MODEL_PART.search(body[:65_536]) or MODEL_PART.search(body[-65_536:])
    return found.group(1).decode("utf-8", "replace") if found else None


def replace_multipart_model(body: bytes, model: str) -> bytes | None:
    """The form with another `model`; None when it has no such field."""
    for start in (0, max(0, len(body) - 65_536)):
        found = MODEL_PART.search(body[start : start + 65_536])
        if found:
            return body[: start + found.start(1)] + model.encode() + body[start + found.end(1) :]
    return None
