"""The client's side of one connection: what was read is kept with its time, and little more.

What is looked at while a stream runs is only whether the answer may have ended: a read of a
chunked body is given to llhttp when it could be the last one, together with those before it.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from proa.bench.arrival_clock import ArrivalClock
from proa.bench.raw import RawEnd, RawExchange
from proa.bench.stamped_socket import Wire, connect
from proa.bench.target import Address

OnEnd = Callable[[RawExchange], None]
_END = b"\r\n\r\n"
_monotonic = time.monotonic


class _AnswerEnd:
    """Finds the end of one answer; interim answers (1xx) end nothing."""

    __slots__ = ("head_complete", "is_chunked", "is_complete", "keep_alive", "parser")

    def __init__(self) -> None:
        self.head_complete = False
        self.is_chunked = False
        self.is_complete = False
        self.keep_alive = False
        self.parser = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"transfer-encoding":
            self.is_chunked = value.strip().lower().endswith(b"chunked")

    def on_headers_complete(self) -> None:
        self.head_complete = self.parser.get_status_code() >= 200
        self.keep_alive = self.parser.should_keep_alive()

    def on_message_complete(self) -> None:
        self.is_complete = self.head_complete


class Pool(Protocol):
    """Who owns connections."""

    def freed(self, connection: "ClientConnection") -> None:
        """It may take another exchange."""

    def lost(self, connection: "ClientConnection") -> None:
        """It is closed."""

    def unserved(self, raw: RawExchange, request: bytes, on_end: OnEnd) -> None:
        """The server had closed an idle connection just when this went out on it."""


class ClientConnection(asyncio.Protocol):
    """Carries one exchange at a time; goes back to its pool before the exchange's end is told."""

    __slots__ = ("_end", "_fed", "_is_used", "_on_end", "_pool", "_read_s", "_request", "is_open",
                 "raw", "transport")  # fmt: skip

    transport: Wire

    def __init__(self, pool: Pool, clock: ArrivalClock) -> None:
        self._read_s = clock.read_s
        self.raw: RawExchange | None = None
        self.is_open = False
        self._pool = pool
        self._on_end: OnEnd | None = None
        self._end: _AnswerEnd | None = None
        self._fed = 0
        self._is_used = False
        self._request = b""

    def connection_made(self, transport: asyncio.BaseTransport | Wire) -> None:
        self.transport = cast("Wire", transport)
        self.is_open = True

    def begin(self, raw: RawExchange, request: bytes, on_end: OnEnd) -> None:
        """Send a request; `on_end` gets `raw` back when its answer ended, however it did."""
        self.raw, self._on_end = raw, on_end
        self._request = request
        self._end, self._fed = _AnswerEnd(), 0
        raw.wired_s = _monotonic()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """From a transport with TLS, which knows no time of arrival."""
        self.arrived(data, self._read_s())

    def arrived(self, data: bytes, at_s: float) -> None:
        """Keep a read with its time, and look whether it may be the last."""
        raw, end = self.raw, self._end
        if raw is None or end is None:
            self.transport.abort()  # an answer to nothing
            return
        raw.times.append(at_s)
        raw.reads.append(data)
        if end.is_chunked and len(data) > len(_END) and not data.endswith(_END):
            return
        self._read_on(raw, end)

    def _read_on(self, raw: RawExchange, end: _AnswerEnd) -> None:
        unread = raw.reads[self._fed :]
        self._fed = len(raw.reads)
        try:
            end.parser.feed_data(unread[0] if len(unread) == 1 else b"".join(unread))
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not end.is_complete:
                self.give_up(RawEnd.MALFORMED, f"malformed answer: {error}")
                return
            end.keep_alive = False  # bytes after the answer's end
        if end.is_complete:
            if not end.keep_alive:
                self.transport.abort()
            self._finish(RawEnd.COMPLETE, raw.times[-1], "", reusable=end.keep_alive)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._pool.lost(self)
        raw, on_end = self.raw, self._on_end
        if raw is not None and on_end is not None and self._is_used and not raw.reads:
            self.raw = self._on_end = self._end = None
            self._pool.unserved(raw, self._request, on_end)
        elif raw is not None:
            at_s = _monotonic() if exc is not None or not raw.times else raw.times[-1]
            self._finish(RawEnd.CLOSED, at_s, str(exc) if exc else "")

    def give_up(self, end: RawEnd, text: str) -> None:
        """End the exchange from this side; the connection is of no use after it."""
        self.transport.abort()
        self._finish(end, _monotonic(), text)

    def _finish(self, end: RawEnd, at_s: float, text: str, *, reusable: bool = False) -> None:
        raw, on_end = self.raw, self._on_end
        self.raw = self._on_end = self._end = None
        self._is_used = True
        if reusable and self.is_open:
            self._pool.freed(self)
        if raw is not None and on_end is not None:
            raw.end, raw.ended_s, raw.text = end, at_s, text
            on_end(raw)


async def opened(
    pool: Pool, address: Address, tls: ssl.SSLContext | None, clock: ArrivalClock
) -> ClientConnection:
    """A connection of `pool`'s: with the kernel's stamps, but for TLS, whose records hide them.

    Raises:
        OSError: the target takes none.
    """
    connection = ClientConnection(pool, clock)
    if tls is None:
        await connect(address.host, address.port, connection, clock)
    else:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: connection, address.host, address.port, ssl=tls)
    return connection
