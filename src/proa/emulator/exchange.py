"""What a protocol makes of a request: an answer that is ready, or one to be generated."""

from http import HTTPStatus
from typing import Protocol

import msgspec

from proa.emulator.sequence import Sequence, SequenceSpec

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
LAST_CHUNK = b"0\r\n\r\n"


class Request(msgspec.Struct, frozen=True):
    """One request as far as the emulator looks at it."""

    method: str
    path: str
    query: str
    body: bytes
    is_too_large: bool = False
    keeps_open: bool = True


class Reply(msgspec.Struct, frozen=True):
    """An answer that needs no generating; an event stream is sent in chunks."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class Answer(Protocol):
    """The bytes of an answer while it is generated."""

    is_stream: bool

    def opening(self) -> bytes:
        """What precedes the first token."""

    def token(self, number: int) -> bytes:
        """What is sent for a token that is not the last one; the first is number 1."""

    def closing(self, sequence: Sequence) -> bytes:
        """The last token and all that follows it; for a whole answer its body."""


class AtOnce:
    """The part of an `Answer` that is the same for all that come whole, at their end."""

    is_stream = False

    def opening(self) -> bytes:
        return b""

    def token(self, number: int) -> bytes:
        del number
        return b""


class Generation(msgspec.Struct, frozen=True):
    """A sequence to be scheduled, and the form of its answer.

    `head_waits` keeps the status line back until the first token, as llama.cpp does.
    """

    spec: SequenceSpec
    answer: Answer
    head_waits: bool = False


class Refused(Exception):
    """A request that gets an error; the protocol's own form of it."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def json_reply(value: object, status: int = 200) -> Reply:
    """`value` as compact JSON."""
    return Reply(status, msgspec.json.encode(value))


def event(value: object) -> bytes:
    """One server-sent event with `value` as JSON, framed as one chunk."""
    return chunk(b"data: " + msgspec.json.encode(value) + b"\n\n")


DONE_EVENT = b"e\r\ndata: [DONE]\n\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of the chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def head(status: int, content_type: str, length: int | None, more: bytes) -> bytes:
    """A response head; `length` None is the chunked coding, `more` are finished header lines."""
    framing = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
    return b"HTTP/1.1 %d %b\r\nserver: proa-emulator\r\ncontent-type: %b\r\n%b\r\n%b\r\n" % (
        status,
        HTTPStatus(status).phrase.encode(),
        content_type.encode(),
        framing,
        more,
    )
