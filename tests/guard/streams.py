"""Streams of every API, made of the pieces of a text, and what their clients read of them."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from proa.wire.sse import event_data, split_events


class Dialect(NamedTuple):
    """`stream` writes the events for a text in pieces, `read` joins a client's text."""

    name: str
    stream: Callable[[Sequence[str]], list[bytes]]
    read: Callable[[Any], str]
    is_lines: bool = False

    def text(self, stream: bytes) -> str:
        lines = stream.split(b"\n") if self.is_lines else [e for e, _ in split_events(stream)]
        found = (line if self.is_lines else event_data(line) for line in lines)
        return "".join(self.read(json.loads(data)) for data in found if data[:1] == b"{")


def sse(*events: object) -> list[bytes]:
    return [b"data: %b\n\n" % json.dumps(event, ensure_ascii=False).encode() for event in events]


def named(*events: dict[str, Any]) -> list[bytes]:
    return [b"event: %b\n%b" % (e["type"].encode(), sse(e)[0]) for e in events]


def chunk(delta: object, index: int = 0, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"id": "chatcmpl-0101", "created": 1796047500, "model": "m", "choices": [choice]}


def chat(field: str) -> Callable[[Sequence[str]], list[bytes]]:
    def stream(pieces: Sequence[str]) -> list[bytes]:
        return [
            *sse(chunk({"role": "assistant", "content": ""})),
            *sse(*(chunk({field: piece}) for piece in pieces)),
            *sse(chunk({}, finish="stop")),
            *sse({"id": "chatcmpl-0101", "choices": [], "usage": {"total_tokens": 9}}),
            b"data: [DONE]\n\n",
        ]

    return stream


def chat_read(field: str) -> Callable[[Any], str]:
    return lambda e: "".join(c["delta"].get(field) or "" for c in e["choices"])


def tools(pieces: Sequence[str]) -> list[bytes]:
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f"}}
    calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    return [
        *sse(chunk({"tool_calls": [first]})),
        *sse(*(chunk({"tool_calls": [call]}) for call in calls)),
        *sse(chunk({}, finish="tool_calls")),
        b"data: [DONE]\n\n",
    ]


def tools_read(event: Any) -> str:
    calls = (call for c in event["choices"] for call in c["delta"].get("tool_calls", ()))
    return "".join(call["function"].get("arguments", "") for call in calls)


def completions(pieces: Sequence[str]) -> list[bytes]:
    told = [{"choices": [{"text": p, "index": 0, "finish_reason": None}]} for p in pieces]
    if told:
        told[-1]["choices"][0]["finish_reason"] = "length"
    return [*sse(*told), b"data: [DONE]\n\n"]


def messages(kind: str, field: str) -> Callable[[Sequence[str]], list[bytes]]:
    def stream(pieces: Sequence[str]) -> list[bytes]:
        block = {"type": "content_block_delta", "index": 0}
        return named(
            {"type": "message_start", "message": {"id": "msg_1", "content": [], "role": "a"}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
            {"type": "ping"},
            *({**block, "delta": {"type": kind, field: piece}} for piece in pieces),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        )

    return stream


def responses(pieces: Sequence[str]) -> list[bytes]:
    place = {"item_id": "msg_0101", "output_index": 0, "content_index": 0}
    deltas = [
        {"type": "response.output_text.delta", "sequence_number": n, **place, "delta": piece}
        for n, piece in enumerate(pieces)
    ]
    whole = "".join(pieces)
    done = {"type": "response.output_text.done", **place, "text": whole}
    content = [{"type": "output_text", "text": whole}]
    response = {"id": "resp_1", "output": [{"type": "message", "content": content}]}
    return named(
        {"type": "response.created", "response": {"id": "resp_1", "output": []}},
        *deltas,
        done,
        {"type": "response.completed", "response": response},
    )


def ollama(make: Callable[[str], dict[str, Any]]) -> Callable[[Sequence[str]], list[bytes]]:
    def stream(pieces: Sequence[str]) -> list[bytes]:
        stamp = "2026-11-30T12:00:%02d.%dZ"
        lines = [
            {"model": "m", "created_at": stamp % (n % 60, n), **make(p), "done": False}
            for n, p in enumerate(pieces)
        ]
        lines.append({"model": "m", "created_at": stamp % (59, 1), **make(""), "done": True})
        return [json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines]

    return stream


def flat(make: Callable[[str], dict[str, Any]]) -> Callable[[Sequence[str]], list[bytes]]:
    return lambda pieces: sse(*map(make, pieces))


def _delta(*fields: str) -> Callable[[Any], str]:
    def read(event: Any) -> str:
        if event.get("type") not in (None, "content_block_delta", "response.output_text.delta"):
            return ""
        for field in fields:
            event = event.get(field) if isinstance(event, dict) else None
        return event or ""

    return read


DIALECTS = [
    Dialect("chat", chat("content"), chat_read("content")),
    Dialect("reasoning", chat("reasoning_content"), chat_read("reasoning_content")),
    Dialect("tools", tools, tools_read),
    Dialect("completions", completions, lambda e: e["choices"][0]["text"]),
    Dialect("messages", messages("text_delta", "text"), _delta("delta", "text")),
    Dialect("thinking", messages("thinking_delta", "thinking"), _delta("delta", "thinking")),
    Dialect("tool_use", messages("input_json_delta", "partial_json"),
            _delta("delta", "partial_json")),
    Dialect("responses", responses, _delta("delta")),
    Dialect("ollama_chat", ollama(lambda p: {"message": {"role": "a", "content": p}}),
            _delta("message", "content"), is_lines=True),
    Dialect("ollama_generate", ollama(lambda p: {"response": p}), _delta("response"),
            is_lines=True),
    Dialect("triton", flat(lambda p: {"model_name": "m", "text_output": p}),
            _delta("text_output")),
    Dialect("llamacpp", flat(lambda p: {"index": 0, "content": p, "stop": False}),
            _delta("content")),
    Dialect("tgi", flat(lambda p: {"token": {"id": 1, "text": p}, "generated_text": None}),
            _delta("token", "text")),
]  # fmt: skip


def cut(text: str, places: Iterable[int]) -> Iterator[str]:
    """The text cut at these places, with an empty piece for a place that comes twice."""
    at = 0
    for place in sorted(places):
        yield text[at:place]
        at = place
    yield text[at:]
