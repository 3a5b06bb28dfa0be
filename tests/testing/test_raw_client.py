"""The raw client shows framing as it is and does not forgive."""

import pytest

from proa.testing.raw_client import RawClient
from proa.testing.raw_response import WireError, parse_head, request_bytes
from proa.testing.replies import raw_reply
from proa.testing.scripted_engine import ScriptedEngine


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na : b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    ],
)
def test_bad_heads_are_refused(head: bytes) -> None:
    with pytest.raises(WireError):
        parse_head(head)


def test_a_header_that_is_there_twice_is_no_single_value() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\nvia: a\r\nVia: b\r\n\r\n")
    assert head.header_values("VIA") == ["a", "b"]
    with pytest.raises(WireError, match="2 times"):
        head.header("via")


async def test_bytes_after_a_response_are_not_an_end() -> None:
    reply = raw_reply(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab")
    async with ScriptedEngine([reply]) as engine, RawClient.connect(engine.url) as client:
        await client.send(request_bytes("/"))
        assert (await client.read_response()).body.data == b"a"
        with pytest.raises(WireError, match="bytes instead of an end"):
            await client.end()


@pytest.mark.parametrize("status", [204, 304])
async def test_some_responses_have_no_body(status: int) -> None:
    reply = raw_reply(b"HTTP/1.1 %d X\r\ncontent-length: 5\r\n\r\n" % status)
    async with ScriptedEngine([reply]) as engine, RawClient.connect(engine.url) as client:
        await client.send(request_bytes("/"))
        assert (await client.read_response()).body.data == b""


async def test_a_wrong_chunk_border_is_an_error() -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    engine = ScriptedEngine([raw_reply(head + b"2\r\nabc\r\n")])
    async with engine, RawClient.connect(engine.url) as client:
        await client.send(request_bytes("/"))
        await client.read_head()
        with pytest.raises(WireError, match="does not end in CRLF"):
            await client.read_chunk()


def test_requests_are_counted_or_chunked() -> None:
    assert request_bytes("/a", b"xy").endswith(b"content-length: 2\r\n\r\nxy")
    assert request_bytes("/a", chunks=[b"xy"]).endswith(b"\r\n\r\n2\r\nxy\r\n0\r\n\r\n")
    assert b"content-length" not in request_bytes("/a", method="GET")
