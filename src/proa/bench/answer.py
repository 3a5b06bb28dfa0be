"""A raw exchange read after its end: each event of the answer with the time of its bytes.

An event's time is that of the read which brought the last byte of its data.
"""

from bisect import bisect_left

import msgspec

from proa.bench.answer_events import EventContent, Usage, read_event
from proa.bench.raw import RawEnd, RawExchange
from proa.bench.sample import ContentEvent
from proa.wire.response_parser import ResponseError, ResponseParser
from proa.wire.sse import event_data, split_events

_PLAIN = b"data: "
_TAIL = b"\n\n"  # ends an event that its stream cut off after the data


class Answer(msgspec.Struct):
    """What the answer to one request held; times as in the exchange, None where not there."""

    status: int | None = None
    is_whole: bool = False
    is_stream: bool = False
    is_done: bool = False
    events: list[ContentEvent] = []
    visible_s: float | None = None
    visible_events: int = 0
    text: list[str] = []
    finish_reason: str | None = None
    usage: Usage | None = None
    first_tokens: int | None = None
    """What a running count of usage said at the first content."""
    error: str | None = None
    malformed: str | None = None

    def note(self, content: EventContent, at_s: float, read: int) -> None:
        """Take an event of the stream."""
        if content.usage is not None and content.usage.completion_tokens is not None:
            self.usage = content.usage
        self.error = self.error or content.error
        self.finish_reason = content.finish_reason or self.finish_reason
        if not content.characters:
            return
        if not self.events and content.usage is not None:
            self.first_tokens = content.usage.completion_tokens
        self.events.append(ContentEvent(at_s, content.characters, read))
        if content.visible:
            self.text.append(content.text)
            self.visible_events += 1
            if self.visible_s is None:
                self.visible_s = at_s


def read_answer(raw: RawExchange) -> Answer:
    """All that the reads say; what cannot be read is `malformed`, never raised."""
    answer = Answer()
    parser = ResponseParser(head_request=False)
    ends, body = _body(raw, parser, answer)
    answer.status = parser.status or None
    if not parser.head_complete:
        return answer
    kind = parser.fields.get(b"content-type", b"").lower()
    answer.is_stream = kind.startswith(b"text/event-stream")
    answer.is_whole = parser.complete
    if answer.is_stream and parser.status < 400:
        _read_stream(answer, body, ends, raw.times)
    elif body:
        _read_whole(answer, body)
    return answer


def _body(raw: RawExchange, parser: ResponseParser, answer: Answer) -> tuple[list[int], bytes]:
    """The de-framed body, and where in it each read ended."""
    parts: list[bytes] = []
    ends: list[int] = []
    size = 0
    try:
        for data in raw.reads:
            parser.feed(data)
            for piece in parser.pieces:
                parts.append(piece)
                size += len(piece)
            parser.pieces.clear()
            ends.append(size)
        if raw.end is RawEnd.CLOSED:
            parser.end_of_connection()
    except ResponseError as error:
        answer.malformed = str(error)
    parser.close()
    return ends, b"".join(parts)


def _read_stream(answer: Answer, body: bytes, ends: list[int], times: list[float]) -> None:
    begin = 0
    for event, end in split_events(body + _TAIL):
        last = begin + len(event)
        begin = end
        plain = event.startswith(_PLAIN) and b"\n" not in event and b"\r" not in event
        data = event[len(_PLAIN) :] if plain else event_data(event)
        if not data:
            continue
        if data == b"[DONE]":
            answer.is_done = True
            continue
        try:
            content = read_event(data)
        except (msgspec.MsgspecError, RecursionError) as error:
            answer.malformed = answer.malformed or f"event is no JSON of this API: {error}"
            continue
        read = min(bisect_left(ends, min(last, ends[-1])), len(times) - 1)
        answer.note(content, times[read], read)


def _read_whole(answer: Answer, body: bytes) -> None:
    """An answer that is no stream: its text and counts, but no time of a first token."""
    try:
        content = read_event(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        if answer.status is not None and answer.status < 400:
            answer.malformed = answer.malformed or f"answer is no JSON of this API: {error}"
        else:
            answer.error = body[:300].decode("utf-8", "replace")
        return
    answer.usage, answer.finish_reason = content.usage, content.finish_reason
    answer.error = content.error
    if answer.error is None and answer.status is not None and answer.status >= 400:
        answer.error = body[:300].decode("utf-8", "replace")
    if content.characters:
        answer.text.append(content.text)
        answer.visible_events = 1
