"""Requests of the OpenAI API: what the emulator reads of them, and what it makes of that."""

import re
from typing import Annotated

import msgspec

from proa.emulator.prompt import Message, rendered_chat, rendered_prompt
from proa.emulator.words import Words

Limit = Annotated[int, msgspec.Meta(ge=1)]
_PATH = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING = re.compile(r"missing required field `([^`]*)`")


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class Asked(msgspec.Struct, kw_only=True):
    """The fields that both forms of request share; all others are ignored."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Limit | None = None
    max_completion_tokens: Limit | None = None
    temperature: float | None = None
    n: int | None = None
    seed: int | None = None

    @property
    def output_limit(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class AskedChat(Asked, kw_only=True):
    messages: list[Message]

    def rendered(self) -> bytes:
        return rendered_chat(self.messages)


class AskedCompletion(Asked, kw_only=True):
    prompt: str | list[int]

    def rendered(self) -> bytes:
        return rendered_prompt(self.prompt)


class Invalid(Exception):
    """A body that cannot be read: `field` is the dotted name, empty for no JSON at all."""

    def __init__(self, field: str, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.is_missing = is_missing


class Prepared(msgspec.Struct, kw_only=True):
    """A request that can be scheduled: its identity, its size and its words."""

    id: str
    created: int
    model: str
    is_chat: bool
    is_stream: bool
    wants_usage: bool
    prompt_tokens: int
    output_tokens: int
    finish_reason: str
    words: Words


_chat = msgspec.json.Decoder(AskedChat).decode
_completion = msgspec.json.Decoder(AskedCompletion).decode


def read_asked(body: bytes, *, is_chat: bool) -> AskedChat | AskedCompletion:
    """The body's fields.

    Raises:
        Invalid: no JSON, a field of another type, a missing prompt, or several choices.
    """
    try:
        asked = _chat(body) if is_chat else _completion(body)
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid("", str(error)) from None
    if asked.n not in (None, 1):
        raise Invalid("n", "the emulator gives one choice")
    return asked


def _invalid(text: str) -> Invalid:
    missing = _MISSING.search(text)
    if missing:
        return Invalid(missing[1], "Field required", is_missing=True)
    path = _PATH.search(text)
    return Invalid(path[1] if path else "", _PATH.sub("", text))
