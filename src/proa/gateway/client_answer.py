"""The answer of one exchange as bytes for its client: head, framing, end."""

from typing import TYPE_CHECKING

from proa.wire.response_head import CHUNKED, CLOSE, KEEP_ALIVE_10, LAST_CHUNK, STATUS_LINES

if TYPE_CHECKING:
    from proa.gateway.client_side import ClientSide

_BODILESS = frozenset((204, 304))


def answer_start(
    status: int, lines: list[bytes], content_type: bytes | None, extra: bytes
) -> bytes:
    """A head's beginning: status line, forwarded lines, content type and `extra` lines."""
    typed = b"" if content_type is None else b"content-type: " + content_type + b"\r\n"
    return b"".join((STATUS_LINES[status], *lines, typed, extra))


class ClientAnswer:
    """Writes through the exchange's connection; the gateway owns the framing.

    A body of known length is counted; another is chunked for HTTP/1.1 and ends with
    the connection for HTTP/1.0.
    """

    __slots__ = (
        "_pending_head",
        "_side",
        "_silent",
        "_until_close",
        "is_chunked",
        "is_events",
        "sent_bytes",
        "status",
    )  # fmt: skip

    def __init__(self, side: "ClientSide") -> None:
        self._side = side
        self.is_events = False
        self.sent_bytes = 0
        self.status = 0
        self.is_chunked = False
        self._pending_head = b""
        self._silent = False
        self._until_close = False

    def detach(self) -> None:
        """The exchange is over; without this the two would keep each other alive."""
        del self._side

    def begin(
        self, status: int, start: bytes, content_type: bytes | None, content_length: int | None
    ) -> None:
        """The head; it goes out with the first piece of the body.

        `start` is what `answer_start` made; framing, Connection and x-request-id follow.
        """
        side = self._side
        connection, head = side.connection, side.head
        self.status = status
        self._silent = head.method == b"HEAD" or status in _BODILESS
        keeps = connection.may_keep_alive(head)
        if content_length is not None and keeps and head.minor and status != 204:
            line = b"%bcontent-length: %d\r\nx-request-id: %b\r\n\r\n"
            self._pending_head = line % (start, content_length, side.told_id)
            return
        if content_type is not None and not content_type.startswith(b"application/json"):
            self.is_events = content_type.startswith(
                (b"text/event-stream", b"application/x-ndjson")
            )
        framing = b""
        if content_length is not None:
            if status != 204:
                framing = b"content-length: %d\r\n" % content_length
        elif not self._silent:
            if head.minor:
                self.is_chunked = True
                framing = CHUNKED
            else:
                self._until_close = True
        if self._until_close or not keeps:
            connection.closing_after = True
            framing += CLOSE
        elif not head.minor:
            framing += KEEP_ALIVE_10
        self._pending_head = b"%b%bx-request-id: %b\r\n\r\n" % (
            start,
            framing,
            side.told_id,
        )

    def body(self, data: bytes, *, last: bool) -> None:
        """A piece of the body (b"" for none), `last` with the end of the message."""
        out = self._pending_head
        if out:
            self._pending_head = b""
        elif data and self.is_chunked and not last:
            self.sent_bytes += len(data)
            self._side.connection.write(b"%x\r\n%b\r\n" % (len(data), data))
            return
        if data and not self._silent:
            self.sent_bytes += len(data)
            if self.is_chunked:
                out += b"%x\r\n%b\r\n" % (len(data), data)
            elif len(data) > 65_536 and out:
                self._side.connection.write(out)
                out = data
            else:
                out = out + data if out else data
        if last and self.is_chunked:
            out += LAST_CHUNK
        if out:
            self._side.connection.write(out)

    def chunk(self, framed: bytes, size: int) -> None:
        """A piece of `size` bytes with its framing, where the head is out and `is_chunked`."""
        self.sent_bytes += size
        self._side.connection.write(framed)

    def whole(self, status: int, start: bytes, body: bytes) -> None:
        """Head and body of a JSON answer that is all here."""
        self.begin(status, start, None, len(body))
        self.body(body, last=True)

    def cut(self) -> None:
        """End the answer so that no client can take it for a whole one; events have told it."""
        self.body(b"", last=False)
        self._side.connection.end_badly(hard=self._until_close and not self.is_events)
