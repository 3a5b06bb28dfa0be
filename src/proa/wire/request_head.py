"""The head of an HTTP/1.1 request: llhttp reads it, a strict layer refuses what llhttp lets pass.

llhttp (httptools) sees only the head; the framing of the body is read from the
head's fields, so that the end of a message is known to the byte and pipelined
requests stay where they are.

Refused here and accepted by llhttp 9: no Host or two, Transfer-Encoding in HTTP/1.0,
codings other than chunked, HTTP/0.9, paths that climb (`..`), methods that nobody here
serves, unknown expectations, encoded bodies, a malformed Host, other request lines than
`METHOD TARGET HTTP/1.x`. Source: RFC 9110, RFC 9112.
"""

import re
from typing import Any

import httptools

from proa.wire.header_names import DROP, FORWARD, REQUEST_HEADERS, connection_tokens, without_named
from proa.wire.known_head import KnownHead
from proa.wire.refusal import ProtocolRefusal
from proa.wire.surface import Surface, surface_of

METHODS = frozenset((b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"))
_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_HOST = _TOKEN - frozenset(b"#^`|") | frozenset(b"()[]:;=")
_OTHER_VERSION = re.compile(rb"[!-~]+ [!-~]+ HTTP/(?!1\.[01])[0-9]\.[0-9]")
_HARMLESS_CONNECTION = frozenset((b"keep-alive", b"close", b"upgrade", b"te", b"http2-settings"))
_DOTS = re.compile(rb"(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?=$|[/\\;]|%2f|%5c|%3b)", re.IGNORECASE)
_LONGEST_LENGTH = 20  # digits of 2**64, from which llhttp refuses
_SINGLE = frozenset(
    (b"host", b"authorization", b"x-api-key", b"content-type", b"expect", b"x-request-id")
)

_table_get = REQUEST_HEADERS.get
_table_learn = REQUEST_HEADERS.learn


class RequestHead:
    """One parsed and checked head.

    `path` and `query` are as sent (percent-encoding kept, query with its `?`).
    `fields` holds the headers that the gateway reads, lower-case name → value;
    `lines` are the finished header lines to forward. `content_length` is 0 for
    a chunked body and for none. `minor` is the x of HTTP/1.x. `is_plain`: its answer
    may be counted, has a body and leaves the connection open. `derived` is for what a
    user works out from the head, to find it again when the same head comes back.
    """

    __slots__ = (
        "chunked", "content_length", "derived", "expects_continue", "fields", "is_plain",
        "keep_alive", "lines", "method", "minor", "path", "path_text", "query", "surface", "target",
    )  # fmt: skip

    method: bytes
    target: bytes
    path: bytes
    path_text: str
    query: bytes
    surface: Surface
    minor: int
    keep_alive: bool
    is_plain: bool
    chunked: bool
    content_length: int
    expects_continue: bool

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.lines: list[bytes] = []
        self.target = b""
        self.derived: dict[object, Any] = {}

    # llhttp callbacks

    def on_url(self, piece: bytes) -> None:
        self.target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        action, lower = _table_get(name) or _table_learn(name)
        if action == FORWARD:
            self.lines.append(name + b": " + value + b"\r\n")
        elif action != DROP:
            self._read(lower, value)

    def _read(self, lower: bytes, value: bytes) -> None:
        fields = self.fields
        value = value.rstrip(b" \t")
        if lower not in fields:
            fields[lower] = value
        elif lower in _SINGLE:
            raise ProtocolRefusal(400, f"{lower.decode()} was sent twice")
        else:
            fields[lower] += b", " + value


class HeadMemo(KnownHead):
    """The last head of a connection: clients repeat theirs, but for the length of the body.

    A head that differs from the last one in nothing but its length was checked
    before; the same `RequestHead` is given again, with what its user has kept in
    `derived`. The length is given apart.
    """

    __slots__ = ("head",)

    def __init__(self) -> None:
        super().__init__()
        self.head = RequestHead()

    def parse(self, data: bytes) -> tuple[RequestHead, int]:
        """The head in `data` and the length of its body, 0 where it is chunked.

        Raises:
            ProtocolRefusal: as `parse_request_head`.
        """
        known = self.length(data)
        if known is not None and known[0] == len(data):
            return self.head, known[1]
        head = parse_request_head(data)
        if self.keep(data):
            self.head = head
        return head, head.content_length


def parse_request_head(data: bytes) -> RequestHead:
    """The head in `data`, which ends with its empty line.

    Raises:
        ProtocolRefusal: 400, 405, 415, 417, 501 or 505, by RFC 9110 and RFC 9112.
    """
    head = RequestHead()
    parser = httptools.HttpRequestParser(head)
    try:
        parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        return _without_upgrade(data, head)
    except httptools.HttpParserError as error:
        raise _translated(error, data) from None
    version = parser.get_http_version()
    head.method = parser.get_method()
    if version == "1.1":
        head.minor = 1
    elif version == "1.0":
        head.minor = 0
    else:
        raise ProtocolRefusal(
            400 if version == "0.9" else 505, f"HTTP/{version} is not spoken here; send HTTP/1.1"
        )
    if not data.startswith(b"%b %b HTTP/1." % (head.method, head.target)):
        raise ProtocolRefusal(400, "malformed request line")
    _check(head)
    head.is_plain = head.keep_alive and head.minor == 1 and head.method != b"HEAD"
    head.path_text = head.path.decode("latin-1")
    head.surface = surface_of(head.path)
    return head


def check_partial_head(data: bytes) -> None:
    """Refuse early a beginning that can never become a head.

    Raises:
        ProtocolRefusal: as `parse_request_head`.
    """
    try:
        httptools.HttpRequestParser(RequestHead()).feed_data(data)
    except httptools.HttpParserUpgrade:
        pass
    except httptools.HttpParserError as error:
        raise _translated(error, data) from None


def _translated(error: httptools.HttpParserError, data: bytes) -> ProtocolRefusal:
    cause = error.__context__
    if isinstance(cause, ProtocolRefusal):
        return cause
    if isinstance(error, httptools.HttpParserInvalidMethodError):
        method = data.lstrip(b"\r\n").split(b" ", 1)[0]
        if method and len(method) <= 32 and _TOKEN.issuperset(method) and method.isupper():
            return ProtocolRefusal(501, f"method {method.decode()} is not implemented")
    if data.startswith(b"PRI * HTTP/2"):
        return ProtocolRefusal(505, "HTTP/2 is not spoken here; put nginx or Envoy in front")
    if _OTHER_VERSION.fullmatch(data.partition(b"\r\n")[0]):
        return ProtocolRefusal(505, "only HTTP/1.1 and HTTP/1.0 are spoken here")
    return ProtocolRefusal(400, f"malformed request head: {error.args[0] if error.args else error}")


def _without_upgrade(data: bytes, seen: RequestHead) -> RequestHead:
    """The same head read without its Upgrade header (RFC 9110 section 7.8 lets us ignore it)."""
    if data[:8] == b"CONNECT ":
        raise ProtocolRefusal(405, "CONNECT is not served here")
    if b"websocket" in seen.fields.get(b"upgrade", b"").lower():
        raise ProtocolRefusal(501, "WebSocket is not served here; stream with server-sent events")
    lines = data.split(b"\r\n")
    kept = [line for line in lines if line[:8].lower() != b"upgrade:"]
    if len(kept) == len(lines):
        raise ProtocolRefusal(400, "malformed Upgrade header")
    return parse_request_head(b"\r\n".join(kept))


def _check(head: RequestHead) -> None:
    fields = head.fields
    if head.method not in METHODS:
        raise ProtocolRefusal(405, f"method {head.method.decode('latin-1')} is not served here")
    if b"host" not in fields and head.minor == 1:
        raise ProtocolRefusal(400, "an HTTP/1.1 request needs a Host header")
    if b"#" in head.target:
        raise ProtocolRefusal(400, "a request target has no fragment")
    if head.target.startswith(b"/"):
        head.path, mark, query = head.target.partition(b"?")
        head.query = mark + query
    else:
        _other_target(head)
    if (b".." in head.path or b"%" in head.path) and _DOTS.search(head.path):
        raise ProtocolRefusal(400, "a request target has no .. segments; send the path itself")
    if not _HOST.issuperset(fields.get(b"host", b"")):
        raise ProtocolRefusal(400, "malformed Host header")
    _check_framing(head)
    head.expects_continue = False
    if b"expect" in fields:
        if fields[b"expect"].lower() != b"100-continue":
            raise ProtocolRefusal(417, "the only expectation met here is 100-continue")
        head.expects_continue = head.minor == 1
    encoding = fields.get(b"content-encoding")
    if encoding is not None and encoding.strip().lower() not in (b"", b"identity"):
        raise ProtocolRefusal(415, "send the body without Content-Encoding")
    _check_connection(head)


def _check_connection(head: RequestHead) -> None:
    """Persistence (RFC 9112 section 9.3) and the fields that end here.

    llhttp's own word on persistence is lost with the end of a message, which for a
    request without a body is the end of its head.
    """
    connection = head.fields.get(b"connection")
    if connection is None:
        head.keep_alive = head.minor == 1
        return
    tokens = connection_tokens(connection)
    head.keep_alive = b"close" not in tokens and (head.minor == 1 or b"keep-alive" in tokens)
    named = [token for token in tokens if token not in _HARMLESS_CONNECTION]
    if named:
        head.lines = without_named(head.lines, named)


def _check_framing(head: RequestHead) -> None:
    fields = head.fields
    coding = fields.get(b"transfer-encoding")
    if coding is None:
        head.chunked = False
        length = fields.get(b"content-length", b"0")
        if len(length) > _LONGEST_LENGTH:
            raise ProtocolRefusal(400, "Content-Length has too many digits")
        head.content_length = int(length)
        return
    if head.minor == 0:
        raise ProtocolRefusal(400, "Transfer-Encoding does not exist in HTTP/1.0")
    if coding.strip().lower() != b"chunked":
        raise ProtocolRefusal(501, "the only transfer coding understood here is chunked")
    if b"content-length" in fields:
        raise ProtocolRefusal(400, "Content-Length and Transfer-Encoding contradict each other")
    head.chunked = True
    head.content_length = 0


def _other_target(head: RequestHead) -> None:
    """Absolute-form (RFC 9112 section 3.2.2) and asterisk-form targets."""
    target = head.target
    if target == b"*" and head.method == b"OPTIONS":
        head.path, head.query = b"*", b""
        return
    scheme, mark, rest = target.partition(b"://")
    if not mark or scheme.lower() not in (b"http", b"https"):
        raise ProtocolRefusal(400, "the request target must start with /")
    end = min((i for i in (rest.find(b"/"), rest.find(b"?")) if i >= 0), default=len(rest))
    authority, remainder = rest[:end], rest[end:]
    if not authority or b"@" in authority:
        raise ProtocolRefusal(400, "malformed absolute request target")
    head.fields[b"host"] = authority
    head.target = remainder if remainder.startswith(b"/") else b"/" + remainder
    head.path, mark, query = head.target.partition(b"?")
    head.query = mark + query
