"""One upstream response: llhttp reads it, the pieces of the body collect here.

A parser serves one response only; bytes after its end make it `overrun`, and the
connection that they came from must be closed. What llhttp leaves to us: no body
follows an answer to HEAD, interim 1xx answers complete like real ones, trailers
arrive as headers after the body, nothing limits the head, nothing tells it of EOF.
"""

import httptools

from proa.wire.header_names import DROP, FORWARD, RESPONSE_HEADERS, connection_tokens, without_named

_table_get = RESPONSE_HEADERS.get
_table_learn = RESPONSE_HEADERS.learn
HEAD_MAX_BYTES = 65_536


class ResponseError(Exception):
    """The engine's answer breaks HTTP/1.1."""


class ResponseParser:
    """Feed it reads; then look at `head_complete`, `pieces` and `complete`.

    `lines` are the finished header lines to forward, `fields` the headers that the
    gateway reads. `content_length` is None where the answer is chunked or ends
    with the connection (`until_close`).
    """

    __slots__ = (
        "_fed", "_head_request", "_parser", "complete", "content_length", "fields", "head_complete",
        "keep_alive", "lines", "overrun", "pieces", "status", "until_close",
    )  # fmt: skip

    def __init__(self, *, head_request: bool) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._head_request = head_request
        self._fed = 0
        self.fields: dict[bytes, bytes] = {}
        self.lines: list[bytes] = []
        self.pieces: list[bytes] = []
        self.status = 0
        self.content_length: int | None = None
        self.head_complete = False
        self.complete = False
        self.overrun = False
        self.keep_alive = False
        self.until_close = False

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises:
            ResponseError: malformed, a head above 64 KiB, or a switch of protocols.
        """
        if self.complete:
            self.overrun = True
            return
        if not self.head_complete:
            self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self.complete:
                self.overrun = True
                return
            raise ResponseError(f"malformed answer: {error}") from None
        if self._fed > HEAD_MAX_BYTES:
            self._check_head_size()

    def _check_head_size(self) -> None:
        if not self.head_complete or sum(map(len, self.lines)) > HEAD_MAX_BYTES:
            raise ResponseError(f"answer head above {HEAD_MAX_BYTES} bytes")
        self._fed = 0

    def end_of_connection(self) -> bool:
        """Whether the response was whole when its connection ended."""
        if self.until_close and self.head_complete:
            self.complete = True
        return self.complete

    def close(self) -> None:
        """Let go of llhttp, which holds on to this object."""
        del self._parser

    # llhttp callbacks

    def on_message_begin(self) -> None:
        if self.complete:
            self.overrun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head_complete:
            return  # a trailer, or the head of an answer that nobody asked for
        action, lower = _table_get(name) or _table_learn(name)
        if action == FORWARD:
            self.lines.append(name + b": " + value + b"\r\n")
        elif action != DROP:
            earlier = self.fields.get(lower) if lower == b"connection" else None
            self.fields[lower] = value if earlier is None else earlier + b", " + value

    def on_headers_complete(self) -> None:
        if self.head_complete:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self.lines.clear()
            self.fields.clear()
            return
        self.status = status
        self.head_complete = True
        self.keep_alive = self._parser.should_keep_alive()
        self._read_framing()
        if self._head_request:
            self.complete = True

    def on_body(self, piece: bytes) -> None:
        if self.complete:
            self.overrun = True
        else:
            self.pieces.append(piece)

    def on_message_complete(self) -> None:
        if self.head_complete:
            self.complete = True

    def _read_framing(self) -> None:
        fields = self.fields
        length = fields.get(b"content-length")
        if length is not None and b"transfer-encoding" not in fields:
            self.content_length = int(length)
        elif b"transfer-encoding" not in fields and self.status not in (204, 304):
            self.until_close = not self._head_request
        connection = fields.get(b"connection")
        if connection is not None:
            named = [t for t in connection_tokens(connection) if t not in (b"close", b"keep-alive")]
            if named:
                self.lines = without_named(self.lines, named)
