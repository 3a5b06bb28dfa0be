"""What one event, or one whole answer, of an OpenAI-compatible API says.

Chat and text completions alike; `reasoning` and `reasoning_content`; tool calls. Role-only and
empty pieces are no content, nor are usage, `[DONE]` and pings.
"""

from typing import Any

import msgspec


class _PromptDetails(msgspec.Struct, gc=False):
    cached_tokens: int | None = None


class _CompletionDetails(msgspec.Struct, gc=False):
    reasoning_tokens: int | None = None


class Usage(msgspec.Struct, gc=False):
    """The engine's own counts; None where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None

    @property
    def cached_tokens(self) -> int | None:
        details = self.prompt_tokens_details
        return None if details is None else details.cached_tokens

    @property
    def reasoning_tokens(self) -> int | None:
        details = self.completion_tokens_details
        return None if details is None else details.reasoning_tokens


class _Delta(msgspec.Struct, gc=False):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None
    function_call: Any = None
    refusal: Any = None
    audio: Any = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    message: _Delta | None = None
    text: Any = None
    finish_reason: Any = None


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: Usage | None = None
    error: Any = None
    object: Any = None
    message: Any = None


class EventContent(msgspec.Struct, frozen=True):
    """Generated characters of one event by kind, and what else it told.

    `visible` counts all that is no reasoning; `text` is the visible text itself.
    """

    visible: int = 0
    reasoning: int = 0
    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    error: str | None = None

    @property
    def characters(self) -> int:
        return self.visible + self.reasoning


_decode = msgspec.json.Decoder(_Event).decode


def read_event(data: bytes) -> EventContent:
    """Read an event's data, or a whole answer.

    Raises:
        msgspec.MsgspecError: it is no JSON object of this API.
    """
    event = _decode(data)
    if event.error or event.object == "error":
        return EventContent(error=_error_text(event), usage=event.usage)
    visible = reasoning = 0
    text = ""
    finish = None
    for choice in event.choices or ():
        piece = choice.delta or choice.message
        finish = finish or choice.finish_reason
        text += _text(choice.text)
        if piece is not None:
            text += _text(piece.content)
            if piece.reasoning_content or piece.reasoning:
                reasoning += _size(piece.reasoning_content) or _size(piece.reasoning)
            if piece.tool_calls or piece.function_call or piece.refusal or piece.audio:
                visible += _size(piece.refusal) + _size(piece.audio)
                visible += _size(piece.tool_calls) + _size(piece.function_call)
    return EventContent(
        visible=visible + len(text),
        reasoning=reasoning,
        text=text,
        finish_reason=None if finish is None else str(finish),
        usage=event.usage,
    )


def _text(content: Any) -> str:
    """Plain text, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return ""


def _size(value: Any) -> int:
    """Characters of all texts inside; ids, types and indexes of tool calls are not generated."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_size, value))
    if isinstance(value, dict):
        return sum(_size(v) for k, v in value.items() if k not in ("id", "type", "index"))
    return 0


def _error_text(event: _Event) -> str:
    error = event.error or event.message
    if isinstance(error, dict):
        error = error.get("message") or error.get("type") or error
    return str(error)[:300]
