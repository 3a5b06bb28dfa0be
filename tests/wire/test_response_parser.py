"""One upstream response and no more: framing, interim answers, trailers, ends."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.testing.replies import Framing, body_reply, chunk, head_bytes, large_headers
from proa.testing.steps import Reply, Send
from proa.wire.chunked import sole_chunk_size
from proa.wire.response_parser import (
    HEAD_MAX_BYTES,
    AnswerMemo,
    ResponseError,
    ResponseParser,
)

OK = b"HTTP/1.1 200 OK\r\n"


def sent(reply: Reply) -> bytes:
    return b"".join(step.data * step.times for step in reply.steps if isinstance(step, Send))


def parsed(*parts: bytes, head_request: bool = False) -> ResponseParser:
    parser = ResponseParser(head_request=head_request)
    for part in filter(None, parts):
        parser.feed(part)
    return parser


def body(parser: ResponseParser) -> bytes:
    return b"".join(parser.pieces)


@given(
    st.lists(st.binary(min_size=1, max_size=200), max_size=5),
    st.sampled_from([Framing.COUNTED, Framing.CHUNKED]),
    st.lists(st.integers(0, 3000), max_size=12),
)
def test_any_cut_gives_the_same_body(parts: list[bytes], framing: Framing, at: list[int]) -> None:
    data = sent(body_reply(parts, framing=framing, headers=[("x-a", "b")]))
    places = [0, *sorted(place % (len(data) + 1) for place in at), len(data)]
    parser = parsed(*(data[a:b] for a, b in pairwise(places)))
    assert (parser.complete, parser.overrun, parser.status) == (True, False, 200)
    assert body(parser) == b"".join(parts)
    assert parser.lines == [b"x-a: b\r\n"]
    assert parser.fields[b"content-type"] == b"application/json"


@given(
    st.lists(st.binary(min_size=1, max_size=40) | st.just(b"1\r\n\r\n"), max_size=8),
    st.lists(st.integers(0, 600), max_size=8),
    st.booleans(),
)
def test_whole_chunks_may_be_kept_from_it(parts: list[bytes], at: list[int], whole: bool) -> None:
    """Where `between_chunks` says so, and only there: the body is the same with and without."""
    head = head_bytes(200, [("transfer-encoding", "chunked")])
    chunks = [chunk(part) for part in (*parts, b"")]
    data = head + b"".join(chunks)
    places = {0, len(head), *(place % (len(data) + 1) for place in at), len(data)}
    if whole:
        places.update(accumulate(map(len, chunks), initial=len(head)))
    parser, found = ResponseParser(head_request=False), b""
    for a, b in pairwise(sorted(places)):
        size = sole_chunk_size(data[a:b]) if parser.between_chunks else 0
        if size:
            found += data[b - 2 - size : b - 2]
        else:
            parser.feed(data[a:b])
            found += body(parser)
            parser.pieces.clear()
    assert (parser.complete, parser.overrun, parser.between_chunks) == (True, False, False)
    assert found == b"".join(parts)


@pytest.mark.parametrize(
    "framing", [b"content-length: 5\r\n", b"transfer-encoding: chunked\r\n", b""]
)
def test_an_answer_to_head_has_no_body(framing: bytes) -> None:
    parser = parsed(OK + framing + b"\r\n", head_request=True)
    assert (parser.complete, parser.until_close, parser.overrun) == (True, False, False)
    assert parser.content_length == (5 if b"5" in framing else None)


@pytest.mark.parametrize("status", [204, 304])
def test_answers_that_never_have_a_body(status: int) -> None:
    parser = parsed(head_bytes(status, [("x-a", "b")]))
    assert (parser.complete, parser.until_close) == (True, False)


@pytest.mark.parametrize("status", [100, 102, 103])
@pytest.mark.parametrize("at_once", [True, False])
def test_interim_answers_are_passed_over(status: int, at_once: bool) -> None:
    interim = head_bytes(status, [("link", "</x>"), ("content-type", "x/y")])
    final = OK + b"x-a: b\r\ncontent-length: 2\r\n\r\nok"
    parser = parsed(interim + final) if at_once else parsed(interim, interim, final)
    assert (parser.status, parser.complete, body(parser)) == (200, True, b"ok")
    assert parser.lines == [b"x-a: b\r\n"]
    assert b"content-type" not in parser.fields


def test_a_switch_of_protocols_that_nobody_asked_for_is_malformed() -> None:
    with pytest.raises(ResponseError):
        parsed(head_bytes(101, [("connection", "upgrade"), ("upgrade", "websocket")]))


def test_trailers_do_not_become_headers() -> None:
    trailers = [("content-type", "evil/x"), ("x-b", "c"), ("connection", "close")]
    parser = parsed(sent(body_reply([b"data"], framing=Framing.CHUNKED, trailers=trailers)))
    assert (parser.complete, body(parser), parser.lines) == (True, b"data", [])
    assert parser.fields[b"content-type"] == b"application/json"


def test_a_body_without_length_ends_with_its_connection() -> None:
    parser = parsed(OK + b"\r\n", b"some", b" data")
    assert (parser.complete, parser.until_close) == (False, True)
    assert parser.end_of_connection()
    assert (parser.complete, body(parser)) == (True, b"some data")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent",
        OK + b"content-length: 5\r\n\r\nfour",
        OK + b"transfer-encoding: chunked\r\n\r\n4\r\ndata\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
def test_a_connection_that_ends_too_early_leaves_the_answer_incomplete(data: bytes) -> None:
    assert not parsed(data).end_of_connection()


@pytest.mark.parametrize("more", [b"x", OK + b"content-length: 1\r\n\r\nx", b"\r\n"])
@pytest.mark.parametrize("at_once", [True, False])
def test_bytes_after_the_end_make_the_connection_unusable(more: bytes, at_once: bool) -> None:
    whole = OK + b"content-length: 2\r\n\r\nok"
    parser = parsed(whole + more) if at_once else parsed(whole, more)
    assert (parser.complete, body(parser)) == (True, b"ok")
    assert parser.overrun or (at_once and more == b"\r\n")  # an empty line is no message
    assert parser.status == 200


def test_bytes_after_an_answer_to_head_make_the_connection_unusable() -> None:
    parser = parsed(OK + b"content-length: 2\r\n\r\nok", head_request=True)
    assert parser.complete
    assert parser.pieces == []
    assert parser.overrun


@pytest.mark.parametrize("cut", [1_000, 1_000_000])
@pytest.mark.parametrize(
    ("size", "fits"), [(12 * 1024, True), (63 * 1024, True), (66 * 1024, False)]
)
def test_heads_up_to_64_kib_are_read(size: int, fits: bool, cut: int) -> None:
    """G91: https://github.com/maximhq/bifrost/issues/4264"""
    data = sent(body_reply([b"{}"], headers=large_headers(size)))
    parts = [data[i : i + cut] for i in range(0, len(data), cut)]
    if fits:
        assert len(b"".join(parsed(*parts).lines)) > size - HEAD_MAX_BYTES // 16
    else:
        with pytest.raises(ResponseError, match="65536"):
            parsed(*parts)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        OK + b"content-length: 2\r\ncontent-length: 3\r\n\r\n",
        OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
        OK + b"content-length: x\r\n\r\n",
        OK + b"a b: c\r\n\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\nxyz\r\n",
    ],
)
def test_broken_answers_are_malformed(data: bytes) -> None:
    with pytest.raises(ResponseError):
        parsed(data)


def test_hop_by_hop_fields_and_those_named_in_connection_do_not_go_on() -> None:
    """G96: https://github.com/cloudflare/pingora/issues/706"""
    parser = parsed(
        OK + b"connection: keep-alive, X-Foo\r\nconnection: x-bar\r\nx-foo: 1\r\nX-Bar: 2\r\n"
        b"keep-alive: timeout=5\r\nupgrade: h2c\r\ntrailer: x\r\nproxy-authenticate: Basic\r\n"
        b"set-cookie: a\r\nset-cookie: b\r\ncontent-length: 0\r\n\r\n"
    )
    assert parser.lines == [b"set-cookie: a\r\n", b"set-cookie: b\r\n"]
    assert parser.keep_alive


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n", True),
    ],
)
def test_persistence(head: bytes, kept: bool) -> None:
    """RFC 9112 section 9.3."""
    for length in (b"content-length: 0\r\n\r\n", b"content-length: 2\r\n\r\nok"):
        assert parsed(head + length).keep_alive is kept


def test_a_length_in_an_answer_that_has_no_body_is_not_remembered() -> None:
    memo = AnswerMemo()
    for status in (b"204", b"304"):
        answer = b"HTTP/1.1 " + status + b" X\r\ncontent-length: 5\r\n\r\n"
        for _ in range(2):
            parser = ResponseParser(head_request=False, memo=memo)
            parser.feed(answer)
            assert (parser.complete, parser.pieces) == (True, [])


def test_an_interim_answer_with_a_length_is_not_remembered() -> None:
    memo = AnswerMemo()
    interim = b"HTTP/1.1 103 Early Hints\r\ncontent-length: 2\r\n\r\n"
    for body in (b"abc", b"defgh"):
        parser = ResponseParser(head_request=False, memo=memo)
        parser.feed(interim + b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        assert (parser.status, b"".join(parser.pieces), parser.complete) == (200, body, True)
