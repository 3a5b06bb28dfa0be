"""What the user said last, and who is asking: read from a body only where something asks for it."""

import re
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
_WHOLE_BYTES = 32_768  # of longer bodies only the beginning of a text is read
_READ_BYTES = 8_192
_TEXT = rb"""\s*:\s*(?:\[.{0,2048}?"text"\s*:\s*)?"((?:[^"\\]++|\\.)*+)"""
_CONTENT = re.compile(rb'"content"' + _TEXT, re.DOTALL)
_PROMPT = re.compile(rb'"(?:prompt|input|inputs|text_input)"' + _TEXT, re.DOTALL)
_ROLE = re.compile(rb'"role"\s*:\s*$')
_CUT_ESCAPE = re.compile(rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\u[0-9a-fA-F]{0,3})?$")
_UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)


def last_user_text(body: bytes) -> str | None:
    """The text of the last message of the user, or of a prompt; None where there is none."""
    if len(body) > _WHOLE_BYTES:
        return _searched(body)
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


def _searched(body: bytes) -> str | None:
    """The first characters of the text in a long body, which is searched and not decoded.

    A quoted name inside a text is written with backslashes and so is not mistaken.
    """
    place = body.find(b'"user"')
    last = -1
    while place >= 0:
        if _ROLE.search(body, max(0, place - 32), place):
            last = place
        place = body.find(b'"user"', place + 1)
    if last >= 0:
        return _beginning(_CONTENT.search(body, last, last + _READ_BYTES))
    return _beginning(_PROMPT.search(body, 0, _READ_BYTES))


def _beginning(found: re.Match[bytes] | None) -> str | None:
    if found is None:
        return None
    text = _CUT_ESCAPE.sub(b"", found[1]).decode("utf-8", "ignore")
    try:
        return _string(f'"{text}"')
    except _UNREADABLE:
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
