"""What every translation can do, and the base of those that translate event by event."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec

from proa.domain.dialect import PLAIN, ChatTemplate, TritonFields
from proa.wire.sse import event_data, last_event_end, split_events
from proa.wire.usage import Usage

_NO_ERROR = (b"", b"null", b"{}", b'""')
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError)


class Untranslatable(Exception):
    """The engine's API has no word for what the request asks: a 400, or another engine."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a translation needs to know besides the bytes.

    `input_tokens` is the estimate for the prompt; `count_tokens` estimates the tokens of
    a text. Both stand in only where the client's API demands a number that the engine
    does not give.
    """

    answer_id: str
    created_s: int
    count_tokens: Callable[[str], int]
    input_tokens: int = 0
    template: ChatTemplate = PLAIN
    triton: TritonFields = TritonFields()


class Translation(Protocol):
    """One request for an engine of another API, and its answer on the way back.

    `target` and `body` go to the engine, `name` says in the decision what was translated.
    `usage` is what the engine counted. An error event of the engine ends the translation:
    `failure` is its data, and nothing more is returned.
    """

    name: str
    target: bytes
    body: bytes
    usage: Usage
    failure: bytes | None

    def answer(self, body: bytes, lines: Sequence[bytes] = ()) -> bytes | None:
        """A whole answer; None where it is an error, or none of this API.

        `lines` are header lines of the engine's answer.
        """

    def feed(self, data: bytes) -> bytes:
        """The client's events for what arrived, which may be cut anywhere."""

    def finish(self) -> bytes:
        """The client's events for what is left: the engine has ended its answer in order."""

    @property
    def held_bytes(self) -> int:
        """The size of the event that has not ended yet."""


class EventTranslation(ABC):
    """A translation of one event at a time."""

    name = ""

    def __init__(self) -> None:
        self.target = b""
        self.body = b""
        self.usage = Usage()
        self.failure: bytes | None = None
        self._rest = b""

    @abstractmethod
    def answer(self, body: bytes, lines: Sequence[bytes] = ()) -> bytes | None:
        """As in `Translation`."""

    @abstractmethod
    def event(self, data: bytes) -> bytes:
        """One event's data in the client's terms, b"" for nothing."""

    @abstractmethod
    def end(self) -> bytes:
        """What the client's API has at the end of a stream that came to its end."""

    def feed(self, data: bytes) -> bytes:
        if self._rest:
            data = self._rest + data
        if data.endswith(b"\n\n"):
            self._rest = b""
        else:
            end = last_event_end(data)
            data, self._rest = data[:end], data[end:]
        return self._events(_events_data(data))

    def finish(self) -> bytes:
        last, self._rest = event_data(self._rest), b""
        out = self._events((last,))
        return out if self.failure is not None else out + self.end()

    @property
    def held_bytes(self) -> int:
        return len(self._rest)

    def _events(self, events: Iterable[bytes]) -> bytes:
        out = []
        for data in events:
            if not data or self.failure is not None:
                continue
            if data.find(b'"error') >= 0 and is_error(data):
                self.failure = data
            else:
                out.append(self.event(data))
        return b"".join(out)


def _events_data(block: bytes) -> list[bytes]:
    """The data of each event in a block of whole ones; without CR, cut by plain searches."""
    if block.find(b"\r") >= 0:
        return [event_data(event) for event, _ in split_events(block)]
    return [
        event[5:].lstrip(b" ") if event.startswith(b"data:") and event.find(b"\n") < 0
        else event_data(event)
        for event in block.split(b"\n\n")
    ]  # fmt: skip


class _Sign(msgspec.Struct, gc=False):
    error: msgspec.Raw = msgspec.Raw()
    error_type: object = None
    object_: object = msgspec.field(default=None, name="object")
    type: object = None


_sign = msgspec.json.Decoder(_Sign).decode
json: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def is_error(data: bytes) -> bool:
    """Whether JSON is an error object of any engine: by its top level, never by its text."""
    try:
        sign = _sign(data)
    except UNREADABLE:
        return False
    return (
        bytes(sign.error) not in _NO_ERROR
        or sign.error_type is not None
        or "error" in (sign.object_, sign.type)
    )
