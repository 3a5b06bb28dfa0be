"""The events of an Anthropic message: start, blocks with their deltas, end."""

from typing import Any

from proa.wire.translate.base import Context, json

_TEXT_START = (
    b'event: content_block_start\ndata: {"type":"content_block_start","index":%d,'
    b'"content_block":{"type":"text","text":""}}\n\n'
)
_TEXT = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
    b'"delta":{"type":"text_delta","text":%b}}\n\n'
)
_ARGUMENTS = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
    b'"delta":{"type":"input_json_delta","partial_json":%b}}\n\n'
)
_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'
_MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


class MessageEvents:
    """Writes one message; blocks open and close as the kind of what is generated changes.

    Calls that an engine mixes within one stream stay in order of their first piece:
    a piece for a block that is closed already opens no second one and is dropped.
    """

    def __init__(self, message_id: str, model: str, context: Context) -> None:
        self._message: dict[str, Any] = {
            "id": message_id, "type": "message", "role": "assistant", "model": model,
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": context.input_tokens, "output_tokens": 0},
        }  # fmt: skip
        self._started = False
        self._blocks = 0
        self._open: int | str | None = None
        self._seen: set[int] = set()
        self._generated: list[str] = []

    @property
    def generated(self) -> str:
        """All that was generated so far, for a count of its tokens."""
        return "".join(self._generated)

    def start(self) -> bytes:
        """The first event, once."""
        if self._started:
            return b""
        self._started = True
        return _named("message_start", {"type": "message_start", "message": self._message})

    def text(self, text: str) -> bytes:
        """A piece of text, in the open text block or a new one."""
        self._generated.append(text)
        if self._open == "text":
            return _TEXT % (self._blocks, json(text))
        out = self.start() + self._close()
        self._open = "text"
        return out + _TEXT_START % self._blocks + _TEXT % (self._blocks, json(text))

    def call(self, index: int, call_id: str | None, name: str | None, part: str | None) -> bytes:
        """A piece of the tool call number `index`: its id and name first, then its arguments."""
        out = b""
        if index not in self._seen:
            self._seen.add(index)
            out = self.start() + self._close()
            self._open = index
            block = {"type": "tool_use", "id": call_id or "", "name": name or "", "input": {}}
            out += _named(
                "content_block_start",
                {"type": "content_block_start", "index": self._blocks, "content_block": block},
            )
        if part and self._open == index:
            self._generated.append(part)
            out += _ARGUMENTS % (self._blocks, json(part))
        return out

    def end(self, reason: str, stop_sequence: str | None, usage: dict[str, int]) -> bytes:
        """The end of the open block and of the message."""
        delta = {"stop_reason": reason, "stop_sequence": stop_sequence}
        event = {"type": "message_delta", "delta": delta, "usage": usage}
        return self.start() + self._close() + _named("message_delta", event) + _MESSAGE_STOP

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        self._blocks += 1
        return _STOP % (self._blocks - 1)


def _named(name: str, event: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), json(event))
