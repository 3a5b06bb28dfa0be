"""Anthropic's `/v1/messages` for engines that speak `/v1/chat/completions`.

Source: Anthropic's API reference (streaming messages). Reasoning text is left out: a
thinking block needs a signature that no open engine makes.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from proa.wire.translate.base import UNREADABLE, Context, EventTranslation, is_error, json
from proa.wire.translate.messages_request import chat_request, read_messages
from proa.wire.translate.messages_stream import MessageEvents
from proa.wire.usage import TokenCount, Usage

STOP_REASONS = {
    "stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use",
    "function_call": "tool_use", "content_filter": "refusal",
}  # fmt: skip


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct, gc=False):
    index: int = 0
    id: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None
    stop_reason: Any = None


class _Details(msgspec.Struct, gc=False):
    cached_tokens: TokenCount | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: TokenCount | None = None
    completion_tokens: TokenCount | None = None
    prompt_tokens_details: _Details | None = None


class _Answer(msgspec.Struct, gc=False):
    choices: list[_Choice]
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class MessagesTranslation(EventTranslation):
    """One request of Anthropic's form for `/v1/chat/completions`.

    Raises:
        Untranslatable: the request asks for what has no translation.
    """

    name = "chat"

    def __init__(self, body: bytes, context: Context, *, model: str | None) -> None:
        super().__init__()
        request = read_messages(body)
        self.target = b"/v1/chat/completions"
        self.body = chat_request(request)
        self._context = context
        self._model = request.model or model or ""
        self._stops = request.stop_sequences or []
        self._events_out = MessageEvents(f"msg_{context.answer_id}", self._model, context)
        self._cached: int | None = None
        self._reason: str | None = None
        self._stop: str | None = None

    def answer(self, body: bytes, lines: Sequence[bytes] = ()) -> bytes | None:
        del lines
        if is_error(body):
            return None
        try:
            answer = _decode(body)
        except UNREADABLE:
            return None
        self._note(answer.usage)
        choice = answer.choices[0] if answer.choices else _Choice()
        message = choice.message or _Message()
        self._close(choice)
        texts = [message.content or ""]
        texts += [c.function.arguments or "" for c in message.tool_calls or () if c.function]
        return json({
            "id": f"msg_{self._context.answer_id}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": _blocks(message),
            "stop_reason": self._reason or "end_turn",
            "stop_sequence": self._stop,
            "usage": self._usage("".join(texts)),
        })  # fmt: skip

    def event(self, data: bytes) -> bytes:
        if data == b"[DONE]":
            return b""
        try:
            answer = _decode(data)
        except UNREADABLE:
            self.failure = data
            return b""
        if answer.usage is not None:
            self._note(answer.usage)
        if not answer.choices:
            return b""
        choice, events = answer.choices[0], self._events_out
        out = b""
        delta = choice.delta
        if delta is not None:
            if delta.content:
                out = events.text(delta.content)
            for call in delta.tool_calls or ():
                function = call.function or _Function()
                out += events.call(call.index, call.id, function.name, function.arguments)
        if choice.finish_reason is not None:
            self._close(choice)
        return out or events.start()

    def end(self) -> bytes:
        """The end of the message; nothing for a stream without a finish reason: it was cut."""
        if self._reason is None:
            return b""
        events = self._events_out
        return events.end(self._reason, self._stop, self._usage(events.generated))

    def _close(self, choice: _Choice) -> None:
        reason = choice.finish_reason or "stop"
        self._reason = STOP_REASONS.get(reason, "end_turn")
        if reason == "stop" and choice.stop_reason in self._stops:
            self._reason, self._stop = "stop_sequence", choice.stop_reason

    def _note(self, usage: _Usage | None) -> None:
        if usage is None:
            return
        if usage.prompt_tokens is not None:
            self.usage.prompt_tokens = usage.prompt_tokens
        if usage.completion_tokens is not None:
            self.usage.completion_tokens = usage.completion_tokens
        if usage.prompt_tokens_details is not None:
            self._cached = usage.prompt_tokens_details.cached_tokens

    def _usage(self, generated: str) -> dict[str, int]:
        """Anthropic's counts, in which cached tokens are no input tokens; else estimates."""
        context, counted = self._context, self.usage
        made = counted.completion_tokens
        if made is None:
            made = context.count_tokens(generated) if generated else 0
        usage = {"input_tokens": _input_tokens(counted, context), "output_tokens": made}
        if self._cached:
            usage["input_tokens"] = max(0, usage["input_tokens"] - self._cached)
            usage["cache_read_input_tokens"] = self._cached
        return usage


def _input_tokens(usage: Usage, context: Context) -> int:
    return context.input_tokens if usage.prompt_tokens is None else usage.prompt_tokens


def _blocks(message: _Message) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if message.content:
        blocks.append({"type": "text", "text": message.content})
    for call in message.tool_calls or ():
        function = call.function or _Function()
        name, arguments = function.name or "", _object(function.arguments)
        blocks.append({"type": "tool_use", "id": call.id or "", "name": name, "input": arguments})
    return blocks


def _object(arguments: str | None) -> dict[str, Any]:
    """A call's arguments; a model may write what is no JSON object, which is kept as a text."""
    try:
        return msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except UNREADABLE:
        return {"arguments": arguments}
