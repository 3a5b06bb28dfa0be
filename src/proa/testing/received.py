"""Requests as a scripted engine received them, and the strict reading of their framing."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import httptools

Header = tuple[bytes, bytes]


@dataclass(slots=True)
class ReceivedRequest:
    """One request; it is listed when its head is complete, and `body` still grows then.

    `headers` keeps order, case and repetition. `trailers` came after a chunked
    body. `raw` is all that the connection gave since the previous request's end,
    exact unless requests were pipelined. `connection` numbers the connection,
    from 1 in the order of accept.
    """

    connection: int
    method: str = ""
    target: str = ""
    http_version: str = ""
    headers: list[Header] = field(default_factory=list)
    trailers: list[Header] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    raw: bytes = b""
    complete: bool = False
    keep_alive: bool = True

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """The first value of a header, in any case; None when it is not there."""
        values = self.header_values(name)
        return values[0] if values else None

    def header_values(self, name: str) -> list[str]:
        wanted = name.lower().encode()
        return [v.decode("latin-1") for n, v in self.headers if n.lower() == wanted]

    def json(self) -> object:
        """The body as JSON; raises ValueError when it is none."""
        value: object = json.loads(bytes(self.body))
        return value


class RequestReader:
    """Reads one connection with llhttp in its strict default; also the parser's callbacks.

    `on_head` and `on_end` are called for each request.
    """

    def __init__(
        self,
        connection: int,
        on_head: Callable[[ReceivedRequest], None],
        on_end: Callable[[ReceivedRequest], None],
    ) -> None:
        self._connection = connection
        self._on_head = on_head
        self._on_end = on_end
        self._parser = httptools.HttpRequestParser(self)
        self._request = ReceivedRequest(connection)
        self._raw = bytearray()
        self._head_complete = False

    def feed(self, data: bytes) -> None:
        """Raises `httptools.HttpParserError` on bad framing, `HttpParserUpgrade` on an upgrade."""
        self._raw += data
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._request = ReceivedRequest(self._connection)
        self._head_complete = False

    def on_url(self, url: bytes) -> None:
        self._request.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        fields = self._request.trailers if self._head_complete else self._request.headers
        fields.append((name, value))

    def on_headers_complete(self) -> None:
        request = self._request
        request.method = self._parser.get_method().decode()
        request.http_version = self._parser.get_http_version()
        request.keep_alive = self._parser.should_keep_alive()
        self._head_complete = True
        self._on_head(request)

    def on_body(self, body: bytes) -> None:
        self._request.body += body

    def on_message_complete(self) -> None:
        request = self._request
        request.complete = True
        request.raw = bytes(self._raw)
        self._raw.clear()
        self._on_end(request)


def head_violations(request: ReceivedRequest) -> list[str]:
    """What llhttp lets pass and a strict server does not (RFC 9112 sections 3.2 and 6.1)."""
    found = []
    hosts = request.header_values("host")
    if request.http_version == "1.1" and len(hosts) != 1:
        found.append(f"{request.target}: {len(hosts)} Host headers")
    codings = request.header_values("transfer-encoding")
    if codings and (request.http_version == "1.0" or codings != ["chunked"]):
        found.append(f"{request.target}: transfer-encoding {codings} in {request.http_version}")
    if codings and request.header("content-length") is not None:
        found.append(f"{request.target}: content-length beside transfer-encoding")
    if not request.target.startswith("/") and request.target != "*":
        found.append(f"{request.target}: the target is not in origin form")
    return found
