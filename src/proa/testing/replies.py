"""Builders of scripted replies: JSON, event streams, odd framings, cut bytes."""

import json
import random
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from http import HTTPStatus

from proa.testing.steps import Reply, Send, Step, as_steps

Headers = Sequence[tuple[str, str]]


class Framing(Enum):
    """How the end of a body is told: content-length, chunked coding, or the closed connection."""

    COUNTED = auto()
    CHUNKED = auto()
    UNTIL_CLOSE = auto()


def head_bytes(status: int, headers: Headers) -> bytes:
    """A response head; names and values are written as they are given."""
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def chunk(data: bytes) -> bytes:
    """One chunk of the chunked coding; no data gives the last chunk without trailers."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def raw_reply(*parts: bytes | Step, close: bool = False) -> Reply:
    """Exactly these bytes and steps, for framings that no builder should make."""
    return Reply(as_steps(parts), close=close)


def body_reply(
    parts: Iterable[bytes | Step],
    *,
    content_type: str = "application/json",
    status: int = 200,
    headers: Headers = (),
    framing: Framing = Framing.COUNTED,
    trailers: Headers = (),
) -> Reply:
    """A head and a body in the given parts; in the chunked coding each part is one chunk."""
    steps = as_steps(parts)
    counted = sum(len(s.data) * s.times for s in steps if isinstance(s, Send))
    fields = [("content-type", content_type), *headers]
    if framing is Framing.COUNTED:
        fields.append(("content-length", str(counted)))
    elif framing is Framing.CHUNKED:
        fields.append(("transfer-encoding", "chunked"))
        ending = "".join(f"{name}: {value}\r\n" for name, value in trailers)
        in_chunks = (_in_chunk(step) for step in steps)
        steps = (*in_chunks, Send(b"0\r\n" + ending.encode("latin-1") + b"\r\n"))
    return Reply((Send(head_bytes(status, fields)), *steps), close=framing is Framing.UNTIL_CLOSE)


def _in_chunk(step: Step) -> Step:
    if isinstance(step, Send) and step.data:
        return Send(chunk(step.data), times=step.times)
    return step


def json_reply(
    value: object,
    *,
    status: int = 200,
    headers: Headers = (),
    framing: Framing = Framing.COUNTED,
) -> Reply:
    """`value` as compact JSON."""
    return body_reply([json_bytes(value)], status=status, headers=headers, framing=framing)


def json_bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sse_reply(
    events: Iterable[object],
    *,
    done: bool = True,
    line_end: bytes = b"\n",
    space: bool = True,
    headers: Headers = (),
    framing: Framing = Framing.CHUNKED,
) -> Reply:
    """A stream of server-sent events, a write (and a chunk) each.

    An event is a value for JSON, a `str` for the text after `data:`, `bytes` that
    are sent as they are, or a `Step` that is done at that place. `done` adds
    `data: [DONE]`.
    """
    parts: list[bytes | Step] = [
        event if isinstance(event, Step) else event_bytes(event, line_end=line_end, space=space)
        for event in events
    ]
    if done:
        parts.append(event_bytes("[DONE]", line_end=line_end, space=space))
    return body_reply(parts, content_type="text/event-stream", headers=headers, framing=framing)


def event_bytes(event: object, *, line_end: bytes = b"\n", space: bool = True) -> bytes:
    """One event as `sse_reply` takes it."""
    if isinstance(event, bytes):
        return event
    data = event.encode() if isinstance(event, str) else json_bytes(event)
    return b"data:" + (b" " if space else b"") + data + line_end * 2


def informational(status: int = 103, headers: Headers = ()) -> Send:
    """A 1xx head to put before a reply: `reply.preceded_by(informational())`."""
    return Send(head_bytes(status, headers))


def large_headers(total_bytes: int = 12 * 1024) -> tuple[tuple[str, str], ...]:
    """Headers `x-large-…` of about so many bytes together, none above 1 KiB."""
    count, rest = divmod(total_bytes, 1024)
    sizes = [1024] * count + ([rest] if rest else [])
    return tuple((f"x-large-{i}", "v" * max(1, size - 16)) for i, size in enumerate(sizes))


def cut_at(data: bytes, *, seed: int, mean_bytes: int = 7) -> list[bytes]:
    """`data` in pieces of random length, 1 byte to twice the mean; joined they are `data`."""
    dice = random.Random(seed)
    pieces, start = [], 0
    while start < len(data):
        end = start + dice.randint(1, 2 * mean_bytes - 1)
        pieces.append(data[start:end])
        start = end
    return pieces


def scattered(reply: Reply, *, seed: int, mean_bytes: int = 7) -> Reply:
    """The same bytes in writes cut anywhere, heads and chunk sizes included.

    Neighbouring writes may still reach the reader as one.
    """
    steps: list[Step] = []
    for step in reply.steps:
        if isinstance(step, Send):
            data = step.data * step.times
            steps += [Send(piece) for piece in cut_at(data, seed=seed, mean_bytes=mean_bytes)]
        else:
            steps.append(step)
    return Reply(tuple(steps), close=reply.close)
