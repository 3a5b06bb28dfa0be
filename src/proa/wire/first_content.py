"""Whether an event of a stream carries generated content, of any API.

The first such event ends the peek: before it a failure can still become a real
status or go to another engine. Role-only chunks, pings and announcements are not
content; a finish reason is (an empty answer is an answer); what cannot be read is.
"""

import msgspec


class _Delta(msgspec.Struct, gc=False):
    content: object = None
    reasoning_content: object = None
    reasoning: object = None
    tool_calls: object = None
    function_call: object = None
    refusal: object = None
    audio: object = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    text: object = None
    finish_reason: object = None


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    type: str | None = None


_decode = msgspec.json.Decoder(_Event).decode
_ANNOUNCEMENTS = frozenset(
    ("ping", "message_start", "content_block_start", "response.created", "response.queued",
     "response.in_progress", "response.output_item.added", "response.content_part.added")
)  # fmt: skip


def is_content(data: bytes) -> bool:
    """Whether this event's data, or this NDJSON line, is generated content."""
    if not data or data == b"[DONE]":
        return False
    try:
        event = _decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return True
    if event.choices is not None:
        return any(map(_has_content, event.choices))
    return event.type not in _ANNOUNCEMENTS if event.type else True


def _has_content(choice: _Choice) -> bool:
    if choice.text or choice.finish_reason:
        return True
    delta = choice.delta
    return delta is not None and bool(
        delta.content or delta.reasoning_content or delta.reasoning or delta.tool_calls
        or delta.function_call or delta.refusal or delta.audio
    )  # fmt: skip
