"""What the user said last, and who is asking: read from a body only where something asks for it."""

from typing import TypeAlias

import msgspec


class _Part(msgspec.Struct, gc=False):
    text: str | None = None


_Content: TypeAlias = str | list[_Part] | None


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    content: _Content = None


class _Texts(msgspec.Struct, gc=False):
    messages: list[msgspec.Raw] = []
    prompt: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()
    inputs: msgspec.Raw = msgspec.Raw()
    text_input: msgspec.Raw = msgspec.Raw()


class _User(msgspec.Struct, gc=False):
    user: str | None = None


_texts = msgspec.json.Decoder(_Texts).decode
_message = msgspec.json.Decoder(_Message).decode
_string = msgspec.json.Decoder(str).decode
_input = msgspec.json.Decoder(str | list[msgspec.Raw]).decode
_user = msgspec.json.Decoder(_User).decode
_UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)


def last_user_text(body: bytes) -> str | None:
    """The text of the last message of the user, or of a prompt; None where there is none."""
    try:
        texts = _texts(body)
    except _UNREADABLE:
        return None
    if texts.messages:
        return _last(texts.messages)
    for raw in (texts.prompt, texts.input, texts.inputs, texts.text_input):
        if bytes(raw):
            return _text(raw)
    return None


def user_of(body: bytes) -> str:
    """The body's `user`, empty where it has none."""
    try:
        return _user(body).user or ""
    except _UNREADABLE:
        return ""


def _last(messages: list[msgspec.Raw]) -> str | None:
    for raw in reversed(messages):
        try:
            message = _message(raw)
        except _UNREADABLE:
            continue
        if message.role == "user":
            return _joined(message.content)
    return None


def _text(raw: msgspec.Raw) -> str | None:
    """A prompt that is a string, or the messages of the Responses API."""
    try:
        value = _input(raw)
    except _UNREADABLE:
        return None
    return value if isinstance(value, str) else _last(value)


def _joined(content: _Content) -> str | None:
    if content is None or isinstance(content, str):
        return content
    texts = [part.text for part in content if part.text]
    return "\n".join(texts) if texts else None
