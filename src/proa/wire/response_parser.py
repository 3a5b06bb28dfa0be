"""One upstream response: llhttp reads it, the pieces of the body collect here.

A parser serves one response only; bytes after its end make it `overrun`, and the
connection that they came from must be closed. What llhttp leaves to us: no body
follows an answer to HEAD, interim 1xx answers complete like real ones, trailers
arrive as headers after the body, nothing limits the head, nothing tells it of EOF.
"""

import httptools

from proa.wire.header_names import DROP, FORWARD, RESPONSE_HEADERS, connection_tokens, without_named
from proa.wire.known_head import KnownHead

_table_get = RESPONSE_HEADERS.get
_table_learn = RESPONSE_HEADERS.learn
HEAD_MAX_BYTES = 65_536
STREAMED = (b"text/event-stream", b"application/x-ndjson")
_NO_FIELDS: dict[bytes, bytes] = {}
_NO_LINES: list[bytes] = []


class ResponseError(Exception):
    """The engine's answer breaks HTTP/1.1."""


class AnswerMemo(KnownHead):
    """The last plain head of an engine: most of its answers differ in nothing but their length.

    `is_plain` tells that an answer under it is a success, no stream, and leaves the
    connection open. `derived` is for what a user works out from the head.
    """

    __slots__ = ("derived", "fields", "is_plain", "keep_alive", "lines", "status")

    def __init__(self) -> None:
        super().__init__()
        self.status = 0
        self.lines: list[bytes] = []
        self.fields: dict[bytes, bytes] = {}
        self.keep_alive = False
        self.is_plain = False
        self.derived: dict[object, bytes] = {}

    def remember(self, data: bytes, parser: "ResponseParser") -> None:
        """Keep the head at the beginning of `data`, which `parser` has just read."""
        final = data[9:12] == b"%d" % parser.status  # not the head of an interim answer
        if final and self.keep(data[: data.find(b"\r\n\r\n") + 4]):
            self.status, self.keep_alive = parser.status, parser.keep_alive
            self.lines, self.fields = parser.lines, parser.fields
            kind = self.fields.get(b"content-type", b"").lower()
            is_success = parser.status < 300 and self.keep_alive
            self.is_plain = is_success and not kind.startswith(STREAMED)
            self.derived = {}


class ResponseParser:
    """Feed it reads; then look at `head_complete`, `pieces` and `complete`.

    `lines` are the finished header lines to forward, `fields` the headers that the
    gateway reads; both may be shared with other answers of the engine. `content_length`
    is None where the answer is chunked or ends with the connection (`until_close`).
    While `between_chunks`, a read that is one whole chunk may be kept from it.
    """

    __slots__ = (
        "_fed", "_head_request", "_left", "_memo", "_parser", "between_chunks", "complete",
        "content_length", "derived", "fields", "head_complete", "keep_alive", "lines", "overrun",
        "pieces", "status", "until_close",
    )  # fmt: skip

    def __init__(self, *, head_request: bool, memo: AnswerMemo | None = None) -> None:
        self._head_request = head_request
        self._memo = None if head_request else memo
        self.pieces: list[bytes] = []
        self.fields: dict[bytes, bytes] = _NO_FIELDS
        self.lines: list[bytes] = _NO_LINES
        self.status = 0
        self.content_length: int | None = None
        self.derived: dict[object, bytes] | None = None
        self.head_complete = False
        self.complete = False
        self.overrun = False
        self.keep_alive = False
        self.until_close = False
        self.between_chunks = False
        self._parser: httptools.HttpResponseParser | None = None
        self._fed = 0
        self._left = 0

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises:
            ResponseError: malformed, a head above 64 KiB, or a switch of protocols.
        """
        if self.complete:
            self.overrun = True
            return
        if self._parser is None:
            if self._without_llhttp(data):
                return
            self._parser = httptools.HttpResponseParser(self)
            self.fields, self.lines = {}, []
        if not self.head_complete:
            self._fed += len(data)
        self._parse(data, self._parser)
        if self._fed > HEAD_MAX_BYTES:
            self._check_head_size()
        if self._memo is not None and self.head_complete:
            if self._fed == len(data) and self.content_length and self.status not in (204, 304):
                self._memo.remember(data, self)
            self._memo = None

    def _parse(self, data: bytes, parser: httptools.HttpResponseParser) -> None:
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.complete:
                raise ResponseError(f"malformed answer: {error}") from None
            self.overrun = True
        if self.between_chunks and not data.endswith(b"\r\n"):
            self.between_chunks = False  # the next chunk's line has begun

    def _without_llhttp(self, data: bytes) -> bool:
        """Read on where the head is known from an earlier answer; false where llhttp must."""
        if self.head_complete:
            self._counted(data)
            return True
        memo = self._memo
        known = None if memo is None else memo.length(data)
        if memo is None or known is None:
            return False
        self.status, self.keep_alive = memo.status, memo.keep_alive
        self.lines, self.fields, self.derived = memo.lines, memo.fields, memo.derived
        self.head_complete = True
        self._memo = None
        end, length = known
        self.content_length = self._left = length
        self._counted(data[end:])
        return True

    def _counted(self, data: bytes) -> None:
        """A read of a body whose length is known."""
        if len(data) > self._left:
            self.overrun = True
            data = data[: self._left]
        if data:
            self.pieces.append(data)
            self._left -= len(data)
        self.complete = not self._left

    def _check_head_size(self) -> None:
        if not self.head_complete or sum(map(len, self.lines)) > HEAD_MAX_BYTES:
            raise ResponseError(f"answer head above {HEAD_MAX_BYTES} bytes")
        self._fed = 0

    @property
    def leaves_open(self) -> bool:
        """Whether the connection of a whole answer may carry another one."""
        return self.keep_alive and not (self.overrun or self.until_close)

    def end_of_connection(self) -> bool:
        """Whether the response was whole when its connection ended."""
        if self.until_close and self.head_complete:
            self.complete = True
        return self.complete

    def close(self) -> None:
        """Let go of llhttp, which holds on to this object."""
        self._parser = None

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
        assert self._parser is not None
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

    def on_chunk_header(self) -> None:
        self.between_chunks = False

    def on_chunk_complete(self) -> None:
        self.between_chunks = True

    def on_message_complete(self) -> None:
        self.between_chunks = False
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
