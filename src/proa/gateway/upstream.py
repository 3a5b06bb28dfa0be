"""A connection to an engine: one exchange at a time, bytes go to the attempt that holds it."""

import asyncio
from typing import TYPE_CHECKING, cast

from proa.engines.door import EngineDoor
from proa.wire.response_parser import ResponseError, ResponseParser

if TYPE_CHECKING:
    from proa.gateway.attempt import Attempt

HIGH_WATER_BYTES = 65_536


class UpstreamConnection(asyncio.Protocol):
    """`usable` is false once the connection can't carry another exchange.

    `eof` tells a connection that its engine closed in order from one that was reset.
    `door` is where it leads; another one after a reload means that it is not kept.
    """

    __slots__ = ("attempt", "door", "eof", "idle_since", "parser", "reused", "transport", "usable")

    def __init__(self, door: EngineDoor) -> None:
        self.door = door
        self.transport: asyncio.Transport = cast(asyncio.Transport, None)
        self.attempt: Attempt | None = None
        self.parser: ResponseParser | None = None
        self.usable = True
        self.reused = False
        self.eof = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.usable:
            self.transport = cast(asyncio.Transport, transport)

    def forget(self) -> None:
        """Connecting was cancelled: uvloop closes the transport without a word to us."""
        self.usable = False
        self.transport = cast(asyncio.Transport, None)

    def send(self, attempt: "Attempt", head: bytes, body: bytes) -> None:
        """Start an exchange: its answer goes to `attempt`."""
        self.attempt = attempt
        if len(body) <= HIGH_WATER_BYTES:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)

    def data_received(self, data: bytes) -> None:
        attempt, parser = self.attempt, self.parser
        if parser is None:
            if attempt is None:
                self.close()  # bytes that nobody asked for
                return
            known = attempt.link.answers
            body = known.whole_body(data)
            if body is not None and attempt.takes_whole(known, body):
                return
            is_head = attempt.exchange.head.method == b"HEAD"
            parser = self.parser = ResponseParser(head_request=is_head, memo=known)
        elif attempt is None or (parser.between_chunks and attempt.takes_chunk(data)):
            return
        try:
            parser.feed(data)
        except ResponseError as error:
            self.usable = False
            attempt.malformed(str(error))
            return
        attempt.received(parser)

    def eof_received(self) -> None:
        self.eof = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.usable = False
        attempt = self.attempt
        if attempt is not None:
            attempt.connection_lost(exc, orderly=self.eof and exc is None)

    def detach(self) -> None:
        """End the exchange; the caller keeps or closes the connection."""
        self.attempt = None
        if self.parser is not None:
            self.parser.close()
            self.parser = None

    def finish(self) -> bool:
        """End the exchange; whether the connection is still good for another one."""
        self.attempt = None
        if self.parser is not None:
            self.parser.close()
            self.parser = None
        transport = self.transport
        return self.usable and not (transport.is_closing() or transport.get_write_buffer_size())

    def close(self) -> None:
        """Drop the connection at once; the engine sees the end and stops its work."""
        self.usable = False
        self.detach()
        self.transport.abort()
