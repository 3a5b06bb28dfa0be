"""Streams as a load generator reads them: events with the time of each, no sockets, no waiting.

    raw = exchange([(0.005, delta(role="assistant")), (0.214, delta(content="Hi")), (0.3, DONE)])

The true times are what the script says. For a server on real sockets that logs when it truly
wrote, see `proa.bench.paced_server`.
"""

from collections.abc import Mapping, Sequence

from proa.bench.raw import Asked, RawEnd, RawExchange
from proa.testing.replies import chunk, event_bytes, head_bytes, json_bytes

DONE = "[DONE]"
_STREAM = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
Timed = tuple[float, object]


def delta(finish: str | None = None, **fields: object) -> dict[str, object]:
    """A chat chunk with this delta."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def text_piece(text: str, finish: str | None = None) -> dict[str, object]:
    """A chunk of a text completion."""
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish}]}


def usage_event(
    completion: int, prompt: int = 10, *, details: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The usage-only chunk before the end."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, **(details or {})}
    return {"choices": [], "usage": counts}


def exchange(
    events: Sequence[Timed],
    *,
    asked: Asked | None = None,
    line_end: bytes = b"\n",
    end: RawEnd = RawEnd.COMPLETE,
    whole: bool = True,
) -> RawExchange:
    """A stream sent at 0 s; each event is one read, and those of the same time one together.

    `whole` false leaves out the last chunk, as a cut connection does.
    """
    reads: dict[float, bytes] = {}
    for at_s, event in events:
        piece = chunk(event_bytes(event, line_end=line_end))
        reads[at_s] = reads.get(at_s, b"") + piece
    return _raw(reads, head_bytes(200, _STREAM), b"0\r\n\r\n" if whole else b"", asked, end)


def whole_answer(
    value: object, *, at_s: float = 1.0, status: int = 200, asked: Asked | None = None
) -> RawExchange:
    """An answer that is one JSON value and no stream."""
    body = json_bytes(value)
    head = head_bytes(
        status, (("content-type", "application/json"), ("content-length", str(len(body))))
    )
    return _raw({at_s: body}, head, b"", asked, RawEnd.COMPLETE)


def failed_exchange(end: RawEnd, *, at_s: float = 1.0, asked: Asked | None = None) -> RawExchange:
    """A request without an answer."""
    return RawExchange(asked or Asked(0, 0, 0), 0.0, 0.0, [], [], at_s, end, "refused")


def _raw(
    reads: dict[float, bytes], head: bytes, tail: bytes, asked: Asked | None, end: RawEnd
) -> RawExchange:
    times, data = list(reads), list(reads.values())
    data[0] = head + data[0]
    data[-1] += tail
    return RawExchange(asked or Asked(0, 0, 0), 0.0, 0.0, times, data, times[-1], end)
