"""A client's connection: heads and bodies in, answers out, one exchange at a time.

Reading is never stopped for good while an exchange is open, because with a paused
transport neither FIN nor RST is reported: pipelined bytes wait in a buffer, and
above its limit the sweep watches the socket instead. A client that closes its
sending half is taken to be gone, as nginx does.
"""

import asyncio
import select
import socket
import struct
from typing import TYPE_CHECKING, cast

from proa.gateway.exchange import Exchange
from proa.gateway.peers import peer_address
from proa.gateway.request_body import RequestBody
from proa.telemetry.rows import Header
from proa.wire.refusal import ProtocolRefusal
from proa.wire.request_head import HeadMemo, RequestHead, check_partial_head
from proa.wire.response_head import CONTINUE

if TYPE_CHECKING:
    from proa.gateway.plane import DataPlane

HIGH_WATER_BYTES = 65_536
_PIPELINED_MAX_BYTES = 65_536
_LINE_MAX_BYTES = 32_768
_SPACE = ord(" ")
_FOREVER = float("inf")
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: RST in place of FIN
_GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR


class ClientConnection(asyncio.Protocol):
    """What time does to it is in `connection_time.py`; `deadline` is on the plane's coarse clock.

    `watch` tells of a client that went while reading is paused. `head_since` is when half a
    head came, 0 for none; `body` is one that comes in several reads. `stuck_bytes` were in
    the write buffer at `stuck_since`.
    """

    __slots__ = (
        "_checked_bytes", "_full", "_heads", "_looping", "_paused_reading", "_pending", "body",
        "body_read", "closing", "closing_after", "deadline", "exchange", "head_since", "peer",
        "peer_is_trusted", "plane", "secure", "stuck_bytes", "stuck_since", "transport", "watch",
    )  # fmt: skip

    def __init__(self, plane: "DataPlane") -> None:
        self.plane = plane
        # connection
        self.transport = cast(asyncio.Transport, None)
        self.peer = ""
        self.secure = False
        self.closing = False
        self.deadline = plane.now + plane.settings.limits.head_timeout_s
        self.peer_is_trusted = False
        # request
        self.exchange: Exchange | None = None
        self.body_read = True
        self._pending = b""
        self._heads = HeadMemo()
        self.head_since = 0.0
        self._checked_bytes = 0
        self.body: RequestBody | None = None
        self._looping = False
        self._paused_reading = False
        self.watch: select.poll | None = None
        # answer
        self.closing_after = False
        self._full = False
        self.stuck_bytes = 0
        self.stuck_since = 0.0

    # from the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        self.peer = peer_address(transport.get_extra_info("peername"))
        self.secure = transport.get_extra_info("sslcontext") is not None
        self.peer_is_trusted = self.plane.trusts(self.peer)
        self.plane.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closing = True
        self.plane.closed(self)
        self._drop_body()
        if self.exchange is not None:
            self.exchange.client_gone()

    def eof_received(self) -> None:
        if self.exchange is not None:
            self.closing = True
            self.exchange.client_gone()
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        if self.exchange is None:
            if self._pending:
                data = self._pending + data
                self._pending = b""
            body = self._heads.whole_body(data)
            if body is None or self._full:
                self._requests(data)
                return
            self.body_read = True
            exchange = self.exchange = self.plane.new_exchange(self, self._heads.head)
            if exchange.admit(len(body)):
                exchange.run(body)
        elif self.body is not None:
            self._requests(self._more_body(data))
        else:
            self._pipelined(data)

    def pause_writing(self) -> None:
        self._full = True
        if self.exchange is not None:
            self.exchange.writing_paused(True)

    def resume_writing(self) -> None:
        self._full = False
        if self.exchange is not None:
            self.exchange.writing_paused(False)
        elif self._pending and not self.closing and not self._looping:
            self.resume_reading()
            self._next_request()

    # requests

    def _requests(self, data: bytes) -> None:
        """Serve the requests in `data` one after another, until one is underway."""
        self._looping = True
        while data and not self.closing:
            if self._full:
                self._pipelined(data)  # the client has answers to read first
                break
            end = data.find(b"\r\n\r\n") + 4
            if end == 3 or data[0] < _SPACE or end > self.plane.settings.limits.max_head_bytes:
                data = self._odd_head(data, end)
                continue
            try:
                head, length = self._heads.parse(data[:end])
            except ProtocolRefusal as refusal:
                self.refuse(refusal)
                break
            if self.head_since:
                self.head_since = 0.0
                self._checked_bytes = 0
            exchange = self.exchange = self.plane.new_exchange(self, head)
            after = end + length
            self.body_read = not head.chunked and len(data) >= after
            if not exchange.admit(length):
                data = data[after:] if self.body_read else b""
            elif self.body_read:
                exchange.run(data[end:after])
                data = data[after:]
            else:
                data = self._start_body(head, length, data[end:])
            if self.exchange is not None:
                if data:
                    self._pipelined(data)
                break
        self._looping = False

    def _odd_head(self, data: bytes, end: int) -> bytes:
        """Empty lines first, half a head, or too large a one; returns what is left to do."""
        if data[0] in b"\r\n":
            stripped = data.lstrip(b"\r\n")
            if stripped:
                return stripped
            self._pending = data[-1:]
        elif end == 3:
            self._partial_head(data)
        elif end > self.plane.settings.limits.max_head_bytes:
            self._head_too_large(data)
        else:
            self.refuse(ProtocolRefusal(400, "malformed request head: invalid method"))
        return b""

    def _partial_head(self, data: bytes) -> None:
        """A head that is not whole yet; garbage is refused at once, at linear cost."""
        limits = self.plane.settings.limits
        if len(data) > limits.max_head_bytes:
            self._head_too_large(data)
            return
        if len(data) >= 2 * self._checked_bytes and data:
            self._checked_bytes = len(data)
            try:
                check_partial_head(data)
            except ProtocolRefusal as refusal:
                self.refuse(refusal)
                return
        if not self.head_since:
            self.head_since = self.plane.now
            self.deadline = self.head_since + limits.head_timeout_s
        self._pending = data

    def _head_too_large(self, data: bytes) -> None:
        line = data[:_LINE_MAX_BYTES].find(b"\r\n")
        limit = self.plane.settings.limits.max_head_bytes
        status, what = (414, "request line") if line < 0 else (431, "request head")
        self.refuse(ProtocolRefusal(status, f"the {what} is above limits.max_head_bytes = {limit}"))

    def refuse(self, refusal: ProtocolRefusal) -> None:
        """Answer what can't become a request, and close."""
        self.plane.counts[Header.REFUSED_PROTOCOL] += 1
        self.plane.refuse_connection(self, refusal.status, str(refusal))
        self.linger()

    # bodies

    def _start_body(self, head: RequestHead, length: int, data: bytes) -> bytes:
        self.body = RequestBody(length, self.plane, chunked=head.chunked)
        if head.expects_continue and not data:
            self.write(CONTINUE)
        self.deadline = _FOREVER  # the sweep watches the rate
        return self._more_body(data)

    def _more_body(self, data: bytes) -> bytes:
        """Take a read; returns what follows the body if its exchange is over already."""
        body, exchange = self.body, self.exchange
        assert body is not None
        assert exchange is not None
        try:
            rest = body.feed(data)
        except ProtocolRefusal as refusal:
            self.plane.counts[Header.REFUSED_PROTOCOL] += 1
            exchange.refuse(refusal.status, str(refusal))
            return b""
        if body.size > exchange.limits.max_body_bytes:
            exchange.too_large()
        elif rest is not None:
            self.body = None
            self.resume_reading()
            exchange.body_source = body
            exchange.run(body.joined())
            if self.exchange is not exchange:
                return rest
            if rest:
                self._pipelined(rest)
        elif body.announced_bytes() > exchange.limits.max_body_bytes:
            exchange.too_large()
        elif self.plane.over_body_budget():
            body.waits_since = body.waits_since or self.plane.now
            self._pause_reading()
        return b""

    def _drop_body(self) -> None:
        if self.body is not None:
            self.body.release()
            self.body = None

    def _pipelined(self, data: bytes) -> None:
        """Bytes that came while an exchange is open wait for its end."""
        self._pending += data
        if len(self._pending) > _PIPELINED_MAX_BYTES:
            self._pause_reading()

    # answers

    def write(self, data: bytes) -> None:
        if not self.closing:
            self.transport.write(data)

    def may_keep_alive(self, head: RequestHead) -> bool:
        """Whether another request may follow on this connection."""
        return head.keep_alive and self.body_read and not self.plane.draining

    def exchange_done(self, exchange: Exchange) -> None:
        """The exchange has ended and its answer is written."""
        self.exchange = None
        if self.body is not None:
            self._drop_body()
        if self.closing:
            return
        if self.closing_after:
            if self.body_read:
                self.close()
            else:
                self.linger()
            return
        self.deadline = self.plane.now + self.plane.settings.limits.keep_alive_s
        if self._paused_reading:
            self.resume_reading()
        if self._pending and not self._looping:
            self._next_request()

    def _next_request(self) -> None:
        data, self._pending = self._pending, b""
        self._requests(data)

    def close(self) -> None:
        """Close in order; the sweep aborts a client that does not read the rest."""
        limits = self.plane.settings.limits
        unsent = self.transport.get_write_buffer_size()
        self.closing = True
        self.deadline = self.plane.now + (limits.stall_timeout_s if unsent else limits.linger_s)
        self.transport.close()

    def linger(self) -> None:
        """Close the sending half and read on for a while, so that the client gets our answer.

        A close with unread bytes would reset the connection and take the answer with
        it (RFC 9112 section 9.6).
        """
        self.closing = True
        self.deadline = self.plane.now + self.plane.settings.limits.linger_s
        self.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    def end_badly(self, *, hard: bool) -> None:
        """Close so that a client sees a cut answer; `hard` where a FIN would look like an end."""
        if self.closing:
            return
        if hard:
            self.closing = True
            sock = self.transport.get_extra_info("socket")
            if sock is not None and sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.transport.abort()
        else:
            self.close()

    # reading

    def _pause_reading(self) -> None:
        if not self._paused_reading:
            self._paused_reading = True
            self.transport.pause_reading()
            sock = self.transport.get_extra_info("socket")
            self.watch = select.poll()
            self.watch.register(sock.fileno(), _GONE)

    def resume_reading(self) -> None:
        """Read on, if reading was paused."""
        if self._paused_reading:
            self._paused_reading = False
            self.watch = None
            if not self.transport.is_closing():
                self.transport.resume_reading()
