"""The answer of one exchange as bytes for its client: head, framing, end."""

from typing import TYPE_CHECKING

from proa.wire.response_head import CHUNKED, CLOSE, KEEP_ALIVE_10, LAST_CHUNK, STATUS_LINES

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

_BODILESS = frozenset((204, 304))


class ClientAnswer:
    """Writes through the exchange's connection; the gateway owns the framing.

    A body of known length is counted; another is chunked for HTTP/1.1 and ends with
    the connection for HTTP/1.0.
    """

    is_events = False
    sent_bytes = 0
    status = 0
    _chunked = False
    _pending_head = b""
    _silent = False
    _until_close = False

    def __init__(self, exchange: "Exchange") -> None:
        self._exchange = exchange

    def detach(self) -> None:
        """The exchange is over; without this the two would keep each other alive."""
        del self._exchange

    def begin(
        self,
        status: int,
        lines: list[bytes],
        content_type: bytes | None,
        content_length: int | None,
        extra: bytes,
    ) -> None:
        """The head; it goes out with the first piece of the body, or by `flush`."""
        exchange = self._exchange
        connection, head = exchange.connection, exchange.head
        self.status = status
        parts = [STATUS_LINES[status], *lines]
        if content_type is not None:
            self.is_events = content_type.startswith(
                (b"text/event-stream", b"application/x-ndjson")
            )
            parts.append(b"content-type: " + content_type + b"\r\n")
        self._silent = head.method == b"HEAD" or status in _BODILESS
        if content_length is not None:
            if status != 204:
                parts.append(b"content-length: %d\r\n" % content_length)
        elif not self._silent:
            if head.minor:
                self._chunked = True
                parts.append(CHUNKED)
            else:
                self._until_close = True
        if self._until_close or not connection.may_keep_alive(head):
            connection.closing_after = True
            parts.append(CLOSE)
        elif not head.minor:
            parts.append(KEEP_ALIVE_10)
        parts.append(b"x-request-id: " + exchange.request_id + b"\r\n")
        if extra:
            parts.append(extra)
        if exchange.settings.cors_allow_origins:
            parts.append(exchange.plane.cors.answer_lines(head.fields.get(b"origin")))
        parts.append(b"\r\n")
        self._pending_head = b"".join(parts)

    def body(self, data: bytes, *, last: bool) -> None:
        """A piece of the body (b"" for none), `last` with the end of the message."""
        out = self._pending_head
        self._pending_head = b""
        if data and not self._silent:
            self.sent_bytes += len(data)
            if self._chunked:
                out += b"%x\r\n%b\r\n" % (len(data), data)
            elif len(data) > 65_536 and out:
                self._exchange.connection.write(out)
                out = data
            else:
                out = out + data if out else data
        if last and self._chunked:
            out += LAST_CHUNK
        if out:
            self._exchange.connection.write(out)

    def whole(
        self, status: int, lines: list[bytes], content_type: bytes, body: bytes, extra: bytes
    ) -> None:
        """Head and body of an answer that is all here."""
        self.begin(status, lines, content_type, len(body), extra)
        self.body(body, last=True)

    def cut(self) -> None:
        """End the answer so that no client can take it for a whole one; events have told it."""
        self.body(b"", last=False)
        self._exchange.connection.end_badly(hard=self._until_close and not self.is_events)
