"""One upstream try: from the lease on an engine to the end of its answer.

An attempt reads what the engine says and tells its exchange one of four things:
bytes for the client, the end, a failure before anything went out, or a stream that
broke afterwards. It never talks to the client itself.
"""

import asyncio
import errno
from collections.abc import Callable
from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.engines.adapters import classify
from proa.gateway.failover import engine_error, no_answer, stream_broke, stream_failed
from proa.gateway.guarded_answer import hold, is_held
from proa.gateway.lease import Lease
from proa.gateway.link import EngineLink
from proa.gateway.pace import Pace
from proa.gateway.relay import EventRelay, RelayFault, TailTooLong
from proa.gateway.upstream import UpstreamConnection
from proa.wire.chunked import sole_chunk_size
from proa.wire.response_parser import AnswerMemo, ResponseParser
from proa.wire.usage import Usage, note_answer

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

ERROR_BODY_MAX_BYTES = 65_536
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL))
_WEIGHED = frozenset((408, 424, 429, 499))
_MOVING_S = 2.0
_USAGE_BYTES = 4096
_OK = Outcome.OK  # in 3.11 the member of an enumeration costs 0.2 µs to look up


class Attempt:
    """`body_sent` and `answered` (any byte of a response) bound what may be retried."""

    __slots__ = (
        "_begin", "_captured", "_connecting", "_fresh_only", "_mode", "_tail", "answered",
        "body_sent", "connection", "exchange", "lease", "link", "paused", "relay", "usage",
    )  # fmt: skip

    def __init__(self, exchange: "Exchange", link: EngineLink) -> None:
        self.exchange = exchange
        self.link = link
        limit = exchange.asked.max_tokens if exchange.asked is not None else None
        self.lease = Lease(link, exchange.plane.now, limit)
        self.usage = Usage()
        self._mode: Callable[[Attempt, ResponseParser], None] = _head

        # start
        self.connection: UpstreamConnection | None = None
        self.relay: EventRelay | None = None
        self.body_sent = False
        self.answered = False
        self.paused = False
        self._connecting: asyncio.Task[None] | None = None
        self._fresh_only = False
        self._begin = b""
        self._captured = b""
        self._tail = b""

    def start(self) -> None:
        """Send the request on an idle connection, or connect first."""
        plane = self.exchange.plane
        if not self._fresh_only:
            connection = self.link.idle_connection(plane.oldest_idle_s)
            if connection is not None:
                connection.reused = True
                self._send(connection)
                return
        self.exchange.expect_within(self.exchange.limits.connect_timeout_s)
        self._connecting = plane.loop.create_task(self._connect())

    async def _connect(self) -> None:
        connection = UpstreamConnection(self.link.door)
        try:
            await self.link.connect(lambda: connection)
        except asyncio.CancelledError:
            connection.forget()
            raise
        except (OSError, UnicodeError) as error:
            self._connecting = None
            self._unreachable(error)
            return
        self._connecting = None
        if self.lease.open:
            self._send(connection)
        else:
            connection.close()

    def _unreachable(self, error: Exception) -> None:
        """No connection: the engine's fault, unless this machine has nothing left for one."""
        if getattr(error, "errno", None) in _OURS:
            self._fail(Outcome.CANCELLED, 503, f"the gateway can't connect: {_reason(error)}")
        else:
            message = f"engine {self.link.name} can't be reached: {_reason(error)}"
            self._fail(Outcome.BROKEN, 502, message)

    def _send(self, connection: UpstreamConnection) -> None:
        exchange = self.exchange
        self.connection = connection
        self.body_sent = True
        exchange.expect_answer()
        asked, lease = exchange.asked, self.lease
        if asked is not None and asked.stream and lease.pace is None:
            lease.pace = Pace(self.link, len(exchange.body), exchange.plane.clock())
        connection.send(self, exchange.upstream_head(self.link), exchange.body)

    # what the connection reports

    def takes_whole(self, known: AnswerMemo, body: bytes) -> bool:
        """Hand on a plain answer that came in one read; False if somebody must look at it."""
        exchange = self.exchange
        if not (known.is_plain and exchange.takes_whole()):
            return False
        _note_ends(self.usage, body, body)
        self._end(_OK, leaves_open=True)
        exchange.answer_whole(known, body)
        return True

    def received(self, parser: ResponseParser) -> None:
        """The parser took in a read; hand on what it found."""
        self.answered = True
        self.exchange.moved += 1
        self._mode(self, parser)

    def new_relay(self, *, ndjson: bool) -> EventRelay:
        """What a stream goes through on its way to the client."""
        exchange = self.exchange
        started = exchange.head.method == b"HEAD"
        return EventRelay(exchange.surface, ndjson=ndjson, started=started)

    def takes_chunk(self, data: bytes) -> bool:
        """Hand on a read that is one chunk of plain events; False if somebody must look at it."""
        relay, answer = self.relay, self.exchange.begun
        if relay is None or answer is None or not (relay.started and answer.is_chunked):
            return False
        size = sole_chunk_size(data)
        if not size or not relay.passes(data):
            return False
        self.exchange.moved += 1
        answer.chunk(data, size)
        return True

    def malformed(self, message: str) -> None:
        """The engine broke HTTP."""
        self._broke(f"engine {self.link.name}: {message}")

    def connection_lost(self, exc: Exception | None, *, orderly: bool) -> None:
        """The connection ended before the exchange did."""
        connection = self.connection
        parser = connection.parser if connection else None
        if (
            connection is not None
            and connection.reused
            and not self.answered
            and not self._fresh_only
        ):
            self._fresh_only = (
                True  # a pooled connection that its engine had closed: once more, afresh
            )
            connection.detach()
            self.connection = None
            self.start()
            return
        if orderly and parser is not None and parser.until_close and parser.end_of_connection():
            self._mode(self, parser)
            return
        self._broke(f"engine {self.link.name} closed the connection{_because(exc)}")

    def relay_failed(self, fault: RelayFault) -> None:
        """Nothing more of the stream can go on."""
        if isinstance(fault, TailTooLong):
            self._broke(f"engine {self.link.name} sent an event without an end")
        else:
            self.cancel()
            self.exchange.withhold(ndjson=self.relay is not None and self.relay.ndjson)

    # control by the exchange

    def pause(self, paused: bool) -> None:
        """Back-pressure: stop or go on reading from the engine."""
        if self.connection is not None and self.paused is not paused:
            self.paused = paused
            transport = self.connection.transport
            if not transport.is_closing():
                transport.pause_reading() if paused else transport.resume_reading()

    def cancel(self, outcome: Outcome = Outcome.CANCELLED) -> None:
        """Stop the engine's work at once, in whatever state."""
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        self.lease.release(outcome, self.exchange.plane.now)

    def given_up(self) -> None:
        """The control plane found the engine unreachable while we wait for its first byte."""
        self._broke(f"engine {self.link.name} does not answer any more", Outcome.BROKEN, 504)

    def timed_out(self) -> None:
        """The engine said nothing for too long."""
        connecting = self._connecting is not None
        moving = self._others_move()
        what = "connecting took too long" if connecting else "no answer in time"
        outcome = Outcome.BUSY if moving and not connecting else Outcome.BROKEN
        self._broke(f"engine {self.link.name}: {what}", outcome, 504)

    def _others_move(self) -> bool:
        """Whether other answers of the engine got something lately, swept already or not."""
        plane, link = self.exchange.plane, self.link
        if plane.now - link.moved_at < _MOVING_S:
            return True
        others = [connection.exchange for connection in plane.connections]
        return any(x and x.moved and x.attempt and x.attempt.link is link for x in others)

    # ends

    def _broke(self, message: str, outcome: Outcome = Outcome.BROKEN, status: int = 502) -> None:
        if self.exchange.committed:
            self.cancel(outcome)
            stream_broke(self, outcome, status, message)
        else:
            self._fail(outcome, status, message)

    def _fail(self, outcome: Outcome, status: int, message: str) -> None:
        self.cancel(outcome)
        no_answer(self, outcome, status, message)

    def _finish(self, parser: ResponseParser, outcome: Outcome) -> None:
        """The answer is whole: give the connection back and release the engine."""
        self._end(outcome, leaves_open=parser.leaves_open)

    def _end(self, outcome: Outcome, *, leaves_open: bool) -> None:
        connection, now = self.connection, self.exchange.plane.now
        self.connection = None
        if connection is not None:
            if connection.finish() and leaves_open and not self.paused:
                self.link.keep(connection, now)
            else:
                connection.close()
        self.lease.release(outcome, now)


# Modes: what a read means, from the head of the answer to its end.


def _head(attempt: Attempt, parser: ResponseParser) -> None:
    if not parser.head_complete:
        return
    exchange, status = attempt.exchange, parser.status
    content_type = parser.fields.get(b"content-type", b"").lower()
    if status >= 400 and (status >= 500 or status in _WEIGHED or status in exchange.fallback_on):
        mode = _weigh
    elif exchange.committed and not content_type.startswith(b"text/event-stream"):
        mode = _weigh  # a heartbeat went out: anything but events has become an error event
    elif status < 300 and content_type.startswith((b"text/event-stream", b"application/x-ndjson")):
        ndjson = content_type.startswith(b"a")
        attempt.relay = attempt.new_relay(ndjson=ndjson)
        if exchange.is_guarded:
            attempt.relay = exchange.guarded_relay(attempt.relay)
        attempt.usage = attempt.relay.usage
        mode = _events
    elif exchange.is_guarded and exchange.head.method != b"HEAD" and is_held(content_type):
        mode = hold
    else:
        exchange.send_head(attempt, parser)
        mode = _pass
    attempt._mode = mode
    mode(attempt, parser)


def _pass(attempt: Attempt, parser: ResponseParser) -> None:
    """Any other answer: the pieces go on as they come."""
    exchange, pieces, last = attempt.exchange, parser.pieces, parser.complete
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    pieces.clear()
    if data or last:
        exchange.answer.body(data, last=last)
    if not last:
        _keep_ends(attempt, data)
        return
    outcome = _OK if parser.status < 400 else Outcome.CLIENT_FAULT
    if outcome is _OK:
        _note_ends(attempt.usage, attempt._begin or data, attempt._tail + data)
    attempt._finish(parser, outcome)
    exchange.finish(outcome, parser.status)


def _keep_ends(attempt: Attempt, data: bytes) -> None:
    """Remember the first and the last bytes of an answer that comes in pieces: usage is there."""
    if not attempt._begin:
        attempt._begin = data[:_USAGE_BYTES]
    attempt._tail = data if len(data) >= _USAGE_BYTES else attempt._tail + data
    attempt._tail = attempt._tail[-_USAGE_BYTES:]


def _note_ends(usage: Usage, begin: bytes, end: bytes) -> None:
    """The usage near the end of an answer, or near its beginning, as in llama.cpp's embeddings."""
    note_answer(usage, end)
    if len(end) >= _USAGE_BYTES and usage.prompt_tokens is None:
        note_answer(usage, begin[:_USAGE_BYTES])


def _weigh(attempt: Attempt, parser: ResponseParser) -> None:
    """An error answer: read its body, so that it can be classified, retried or retold."""
    attempt._captured += b"".join(parser.pieces)
    parser.pieces.clear()
    if not parser.complete and len(attempt._captured) <= ERROR_BODY_MAX_BYTES:
        return
    body = attempt._captured[:ERROR_BODY_MAX_BYTES]
    outcome = classify(attempt.link.kind, parser.status, body)
    if parser.complete:
        attempt._finish(parser, outcome)
    else:
        attempt.cancel(outcome)
    engine_error(attempt, outcome, parser.status, body, parser)


def _events(attempt: Attempt, parser: ResponseParser) -> None:
    """A stream: whole events go on, the first content commits the status."""
    exchange, relay, pieces = attempt.exchange, attempt.relay, parser.pieces
    assert relay is not None
    if pieces:
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        try:
            events = relay.feed(data)
        except RelayFault as fault:
            attempt.relay_failed(fault)
            return
        if events:
            if exchange.ttft_s is None:
                exchange.first_content(attempt, parser)
            exchange.answer.body(events, last=False)
        if relay.error is not None:
            _stream_error(attempt, relay)
            return
    if parser.complete:
        _events_end(attempt, parser, relay)


def _stream_error(attempt: Attempt, relay: EventRelay) -> None:
    error = relay.error
    assert error is not None
    outcome = classify(attempt.link.kind, error.status, error.data)
    attempt.cancel(outcome)
    if relay.started:
        stream_failed(attempt, outcome)
    else:
        engine_error(attempt, outcome, error.status, error.data, None)


def _events_end(attempt: Attempt, parser: ResponseParser, relay: EventRelay) -> None:
    exchange = attempt.exchange
    try:
        tail = relay.finish()
    except RelayFault as fault:
        attempt.relay_failed(fault)
        return
    error = relay.error
    if error is not None:
        outcome = classify(attempt.link.kind, error.status, error.data)
        if exchange.committed:
            message = f"engine {attempt.link.name}: {error.message}"
            attempt._broke(message, outcome, error.status)
        else:
            attempt.cancel(outcome)
            engine_error(attempt, outcome, error.status, error.data, None)
        return
    if exchange.head.method != b"HEAD" and (not relay.started or relay.ended_early()):
        attempt._broke(f"engine {attempt.link.name} ended the stream early")
        return
    if not exchange.committed:
        exchange.send_head(attempt, parser)
    attempt._finish(parser, _OK)
    exchange.answer.body(tail, last=True)
    exchange.finish(_OK, parser.status)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip()


def _because(exc: Exception | None) -> str:
    return f": {_reason(exc)}" if exc is not None else ""
