"""Heads of requests: what llhttp lets pass and we refuse, what is read, what goes on."""

import pytest

from proa.wire.refusal import ProtocolRefusal
from proa.wire.request_head import check_partial_head, parse_request_head

POST = b"POST /v1/completions HTTP/1.1\r\nhost: a\r\n"
TE = b"transfer-encoding: "
GET = b"GET / HTTP/1.1\r\nhost: a\r\n"
REFUSED = {
    # RFC 9112 section 3.2: Host
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two Hosts": (GET + b"host: a\r\n\r\n", 400),
    "a Host with a space": (b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n", 400),
    "a Host with a path": (b"GET / HTTP/1.1\r\nhost: a/b\r\n\r\n", 400),
    "a Host with a user": (b"GET / HTTP/1.1\r\nhost: u@a\r\n\r\n", 400),
    "two Hosts in one": (b"GET / HTTP/1.1\r\nhost: a, b\r\n\r\n", 400),
    # RFC 9112 section 3: request line
    "HTTP/0.9": (b"GET /\r\n\r\n", 400),
    "RTSP": (b"GET / RTSP/1.0\r\nhost: a\r\n\r\n", 400),
    "two spaces": (b"GET  / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a tab": (b"GET\t/ HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a space before the method": (b" GET / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a space in the target": (b"GET /a b HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a control character in the target": (b"GET /a\x01 HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a fragment": (b"GET /a#b HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a target without slash": (b"GET a HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "an asterisk": (b"GET * HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "an absolute target with a user": (b"GET http://u@a/ HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "an absolute target without host": (b"GET http:///x HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "another scheme": (b"GET ftp://a/x HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "two dots": (b"GET /a/../b HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "HTTP without slash": (b"GET / HTTP1.1\r\nhost: a\r\n\r\n", 400),
    "HTTP/2.0": (b"GET / HTTP/2.0\r\nhost: a\r\n\r\n", 505),
    "HTTP/3.0": (b"GET / HTTP/3.0\r\nhost: a\r\n\r\n", 505),
    "HTTP/1.2": (b"GET / HTTP/1.2\r\nhost: a\r\n\r\n", 505),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\n", 505),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    # RFC 9110 section 9: methods
    "TRACE": (b"TRACE / HTTP/1.1\r\nhost: a\r\n\r\n", 405),
    "CONNECT": (b"CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n", 405),
    "PROPFIND": (b"PROPFIND / HTTP/1.1\r\nhost: a\r\n\r\n", 405),
    "a method that nobody knows": (b"GROW / HTTP/1.1\r\nhost: a\r\n\r\n", 501),
    "a method in small letters": (b"get / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    # RFC 9112 section 5: field lines
    "a bare LF": (b"GET / HTTP/1.1\r\nhost: a\nx: y\r\n\r\n", 400),
    "a bare LF after the request line": (b"GET / HTTP/1.1\nhost: a\r\n\r\n", 400),
    "a bare CR": (b"GET / HTTP/1.1\r\nhost: a\rx: y\r\n\r\n", 400),
    "a folded line": (GET + b"x: y\r\n z\r\n\r\n", 400),
    "a space before the colon": (GET + b"x : y\r\n\r\n", 400),
    "a NUL": (GET + b"x: \x00\r\n\r\n", 400),
    "a line without colon": (GET + b"x\r\n\r\n", 400),
    "a line without name": (GET + b": x\r\n\r\n", 400),
    "Authorization twice": (GET + b"authorization: a\r\nauthorization: b\r\n\r\n", 400),
    # RFC 9112 section 6: framing
    "both lengths": (POST + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", 400),
    "both lengths, turned": (POST + TE + b"chunked\r\ncontent-length: 1\r\n\r\n", 400),
    "the same length twice": (POST + b"content-length: 1\r\nContent-Length: 1\r\n\r\n", 400),
    "two lengths": (POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
    "two lengths in one": (POST + b"content-length: 1, 1\r\n\r\n", 400),
    "a signed length": (POST + b"content-length: +3\r\n\r\n", 400),
    "a negative length": (POST + b"content-length: -3\r\n\r\n", 400),
    "a hexadecimal length": (POST + b"content-length: 0x3\r\n\r\n", 400),
    "no length": (POST + b"content-length: \r\n\r\n", 400),
    "a length beyond all limits": (POST + b"content-length: 99999999999999999999999\r\n\r\n", 400),
    "chunked in HTTP/1.0": (b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n", 400),
    "gzip, chunked": (POST + TE + b"gzip, chunked\r\n\r\n", 501),
    "chunked, gzip": (POST + TE + b"chunked, gzip\r\n\r\n", 400),
    "gzip": (POST + TE + b"gzip\r\n\r\n", 400),
    "identity": (POST + TE + b"identity\r\n\r\n", 400),
    "chunked twice": (POST + TE + b"chunked\r\n" + TE + b"chunked\r\n\r\n", 400),
    "nearly chunked": (POST + TE + b"xchunked\r\n\r\n", 400),
    "a hidden coding": (POST + TE + b"\x0bchunked\r\n\r\n", 400),
    # RFC 9110 sections 7.8, 10.1.1 and 8.4
    "a WebSocket": (GET + b"connection: Upgrade\r\nupgrade: websocket\r\n\r\n", 501),
    "an expectation": (POST + b"expect: 200-ok\r\n\r\n", 417),
    "an encoded body": (POST + b"content-encoding: gzip\r\ncontent-length: 1\r\n\r\n", 415),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    data, status = REFUSED[name]
    with pytest.raises(ProtocolRefusal) as refusal:
        parse_request_head(data)
    assert refusal.value.status == status


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx : y", 400),
        (b"GROW / HT", 501),
    ],
)
def test_garbage_is_refused_before_the_head_is_whole(data: bytes, status: int) -> None:
    with pytest.raises(ProtocolRefusal) as refusal:
        check_partial_head(data)
    assert refusal.value.status == status


@pytest.mark.parametrize("cut", range(1, len(POST)))
def test_the_beginning_of_a_good_head_is_not_refused(cut: int) -> None:
    check_partial_head(POST[:cut])


@pytest.mark.parametrize(
    ("target", "path", "query", "host"),
    [
        (b"/v1/models?a=b?c", b"/v1/models", b"?a=b?c", b"a"),
        (b"/%2e/..x/a..b?/../", b"/%2e/..x/a..b", b"?/../", b"a"),
        (b"http://b:80/x?y", b"/x", b"?y", b"b:80"),
        (b"HTTP://b?y", b"/", b"?y", b"b"),
        (b"https://[::1]:8443", b"/", b"", b"[::1]:8443"),
    ],
)
def test_targets(target: bytes, path: bytes, query: bytes, host: bytes) -> None:
    """RFC 9112 section 3.2.2: the host of an absolute target replaces the Host field."""
    head = parse_request_head(b"GET %b HTTP/1.1\r\nhost: a\r\n\r\n" % target)
    assert (head.path, head.query, head.fields[b"host"]) == (path, query, host)
    assert head.target == path + query


@pytest.mark.parametrize("length", [b"", b"content-length: 0\r\n", b"content-length: 5\r\n"])
@pytest.mark.parametrize(
    ("version", "connection", "kept"),
    [
        (b"1.1", None, True),
        (b"1.1", b"keep-alive", True),
        (b"1.1", b"close", False),
        (b"1.1", b"x-a, Close", False),
        (b"1.0", None, False),
        (b"1.0", b"Keep-Alive", True),
        (b"1.0", b"keep-alive, close", False),
    ],
)
def test_persistence(version: bytes, connection: bytes | None, kept: bool, length: bytes) -> None:
    """RFC 9112 section 9.3."""
    line = b"" if connection is None else b"connection: " + connection + b"\r\n"
    head = parse_request_head(b"POST / HTTP/%b\r\nhost: a\r\n%b%b\r\n" % (version, line, length))
    assert head.keep_alive is kept


def test_hop_by_hop_fields_and_those_named_in_connection_do_not_go_on() -> None:
    """G96: https://github.com/cloudflare/pingora/issues/706"""
    head = parse_request_head(
        GET
        + b"connection: close, X-Foo\r\nConnection: x-bar\r\nx-foo: 1\r\nX-Bar: 2\r\nx-baz: 3\r\n"
        b"keep-alive: 5\r\nte: trailers\r\ntrailer: x\r\nproxy-authorization: p\r\n"
        b"upgrade: x\r\n\r\n"
    )
    assert head.lines == [b"x-baz: 3\r\n"]


def test_an_upgrade_other_than_websocket_is_ignored() -> None:
    """RFC 9110 section 7.8; Java clients ask for h2c on plain connections."""
    head = parse_request_head(
        POST
        + b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
        b"content-length: 12\r\nx-a: b\r\n\r\n"
    )
    assert (head.content_length, head.keep_alive, head.lines) == (12, True, [b"x-a: b\r\n"])


def test_other_fields_go_on_as_they_are() -> None:
    head = parse_request_head(GET + b"X-Mixed: a\r\nx-mixed:  b\r\nx-utf8: \xea\xb0\x80\r\n\r\n")
    assert head.lines == [b"X-Mixed: a\r\n", b"x-mixed: b\r\n", b"x-utf8: \xea\xb0\x80\r\n"]


def test_white_space_around_a_value_is_not_part_of_it() -> None:
    """RFC 9110 section 5.5."""
    head = parse_request_head(
        b"POST / HTTP/1.1\r\nhost:  a\t \r\nexpect: 100-continue \r\nx-request-id: r1 \r\n\r\n"
    )
    assert head.fields[b"host"] == b"a"
    assert head.expects_continue
    assert head.fields[b"x-request-id"] == b"r1"
