"""Each streaming API as an engine speaks it: preamble, content, ending, and its errors."""

import json
from dataclasses import dataclass

from proa.testing.chat import chat_events
from proa.testing.raw_response import json_request
from proa.testing.replies import Framing, body_reply, event_bytes, json_bytes
from proa.testing.steps import Reply, Step

ROLE, HELLO, FROM, SCRIPT, FINISH, USAGE = chat_events()


@dataclass(frozen=True)
class StreamingApi:
    """`preamble` comes before generated content; a stream without `ending` was cut.

    `overload` is how an engine says in band that it is full. `has_mark` is false
    where the API has no mark of its end.
    """

    path: str
    preamble: tuple[bytes, ...]
    content: tuple[bytes, ...]
    ending: tuple[bytes, ...]
    overload: bytes
    content_type: str = "text/event-stream"
    has_mark: bool = True

    @property
    def request(self) -> bytes:
        return json_request({"model": "scripted", "stream": True}, self.path)

    @property
    def events(self) -> tuple[bytes, ...]:
        return (*self.preamble, *self.content, *self.ending)

    @property
    def whole(self) -> bytes:
        return b"".join(self.events)

    def reply(self, *parts: bytes | Step, framing: Framing = Framing.CHUNKED) -> Reply:
        """A stream of these parts; the good one when none are given."""
        return body_reply(parts or self.events, content_type=self.content_type, framing=framing)

    def error_message(self, event: bytes) -> str:
        """The message of an error event in this API's form; anything else fails the test."""
        text = event.decode()
        if self.content_type != "text/event-stream":
            assert text.endswith("\n")
            message = json.loads(text)["error"]
        elif self.path == "/v1/messages":
            body = json.loads(text.removeprefix("event: error\ndata: "))
            assert body["type"] == "error"
            message = body["error"]["message"]
        elif self.path == "/v1/responses":
            body = json.loads(text.removeprefix("event: error\ndata: "))
            assert body["type"] == "error"
            message = body["message"]
        else:
            assert text.endswith("\n\n")
            error = json.loads(text.removeprefix("data: "))["error"]
            message = error if self.path.startswith("/v2/") else error["message"]
        assert isinstance(message, str)
        return message


def named(name: str, fields: dict[str, object]) -> bytes:
    """An event of an API that names its events."""
    return f"event: {name}\n".encode() + event_bytes({"type": name} | fields)


def line(fields: dict[str, object]) -> bytes:
    return json_bytes(fields) + b"\n"


DONE = event_bytes("[DONE]")
OPENAI_OVERLOAD = event_bytes({"error": {"message": "full", "type": "Unavailable", "code": 503}})

CHAT = StreamingApi(
    path="/v1/chat/completions",
    preamble=(b": ping\n\n", event_bytes(ROLE)),
    content=(event_bytes(HELLO), event_bytes(FROM), event_bytes(SCRIPT)),
    ending=(event_bytes(FINISH), event_bytes(USAGE), DONE),
    overload=OPENAI_OVERLOAD,
)
COMPLETIONS = StreamingApi(
    path="/v1/completions",
    preamble=(event_bytes({"choices": [{"index": 0, "text": ""}]}),),
    content=(event_bytes({"choices": [{"index": 0, "text": "Once"}], "usage": None}),),
    ending=(
        event_bytes({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}),
        event_bytes({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 3}}),
        DONE,
    ),
    overload=OPENAI_OVERLOAD,
)
ANTHROPIC = StreamingApi(
    path="/v1/messages",
    preamble=(
        named("message_start", {"message": {"content": [], "usage": {"input_tokens": 11}}}),
        named("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        named("ping", {}),
    ),
    content=(
        named("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "a"}}),
    ),
    ending=(
        named("content_block_stop", {"index": 0}),
        named(
            "message_delta",
            {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        ),
        named("message_stop", {}),
    ),
    overload=named("error", {"error": {"type": "overloaded_error", "message": "full"}}),
)
RESPONSES = StreamingApi(
    path="/v1/responses",
    preamble=(
        named("response.created", {"response": {"status": "in_progress"}}),
        named("response.in_progress", {"response": {"status": "in_progress"}}),
        named("response.output_item.added", {"item": {"type": "message"}}),
        named("response.content_part.added", {"part": {"type": "output_text", "text": ""}}),
    ),
    content=(named("response.output_text.delta", {"delta": "a"}),),
    ending=(
        named(
            "response.completed",
            {"response": {"usage": {"input_tokens": 11, "output_tokens": 3}}},
        ),
    ),
    overload=named(
        "response.failed",
        {"response": {"error": {"code": "server_is_overloaded", "message": "full"}}},
    ),
)
OLLAMA = StreamingApi(
    path="/api/chat",
    preamble=(),
    content=(line({"message": {"content": "a"}, "done": False}),),
    ending=(line({"done": True, "prompt_eval_count": 11, "eval_count": 3}),),
    overload=line({"error": "server busy, please try again."}),
    content_type="application/x-ndjson",
)
TRITON = StreamingApi(
    path="/v2/models/scripted/generate_stream",
    preamble=(),
    content=(event_bytes({"text_output": "tok0 "}), event_bytes({"text_output": "tok1 "})),
    ending=(),
    overload=event_bytes({"error": "Exceeds maximum queue size"}),
    has_mark=False,
)
APIS = {
    "chat": CHAT,
    "completions": COMPLETIONS,
    "anthropic": ANTHROPIC,
    "responses": RESPONSES,
    "ollama": OLLAMA,
    "triton": TRITON,
}
