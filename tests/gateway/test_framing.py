"""Requests one after another on a connection: pipelining, chunks, interim answers, old clients."""

import random

import pytest
from tests.gateway.harness import key_spec, serving

from proa.gateway.settings import LimitsSettings
from proa.telemetry.rows import Header
from proa.testing.raw_response import request_bytes
from proa.testing.received import ReceivedRequest
from proa.testing.replies import Framing, body_reply, cut_at, informational, json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply

EVENT = {"choices": [{"index": 0, "delta": {"content": "word"}}]}


def echo(request: ReceivedRequest) -> Reply:
    """Tells what the engine got."""
    return body_reply(
        [bytes(request.body)], content_type="x/y", headers=[("x-target", request.target)]
    )


async def test_a_thousand_pipelined_requests_are_answered_in_order() -> None:
    async with ScriptedEngine(echo) as engine, serving(engine) as gateway:
        async with gateway.client() as client:
            batch = [request_bytes(f"/x/{i}", method="GET") for i in range(1000)]
            await client.send(b"".join(batch))
            for i in range(1000):
                answer = await client.read_response(method="GET")
                assert (answer.status, answer.header("x-target")) == (200, f"/x/{i}")
        assert engine.peak_running == 1
        assert engine.connections_made == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_thousand_pipelined_requests_that_need_no_engine(method: str) -> None:
    """Chunked bodies between them, which end somewhere inside a read."""
    chunks = [b"{}"] if method == "POST" else None
    request = request_bytes("/healthz", method=method, chunks=chunks)
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(request * 1000)
        for _ in range(1000):
            assert (await client.read_response()).status == 200
        assert gateway.header(Header.ANSWERED_LOCALLY) == 1000


@pytest.mark.parametrize("seed", range(4))
async def test_requests_of_all_framings_cut_anywhere(seed: int) -> None:
    dice = random.Random(seed)
    requests, bodies = [], []
    for index in range(60):
        body = dice.randbytes(dice.choice((0, 1, 30, 3000)))
        chunks = cut_at(body, seed=index, mean_bytes=200) if dice.random() < 0.5 else None
        requests.append(request_bytes(f"/x/{index}", body, chunks=chunks))
        bodies.append(body)
    async with (
        ScriptedEngine(echo) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        for piece in cut_at(b"".join(requests), seed=seed, mean_bytes=700):
            await client.send(piece)
        for index, body in enumerate(bodies):
            answer = await client.read_response()
            assert (answer.header("x-target"), answer.body.data) == (f"/x/{index}", body)
        assert engine.connections_made == 1


async def test_chunk_extensions_and_trailers_are_dropped() -> None:
    data = (
        b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n"
        b'2;a;b="c d"\r\n{}\r\n0\r\nx-sum: 1\r\nhost: evil\r\n\r\n'
    )
    async with (
        ScriptedEngine(echo) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        await client.send(data + request_bytes("/y", b"second"))
        assert (await client.read_response()).body.data == b"{}"
        assert (await client.read_response()).body.data == b"second"
        first = engine.requests[0]
        assert first.header("content-length") == "2"
        assert first.header("transfer-encoding") is None
        assert first.trailers == []
        assert first.header("trailer") is None


async def test_an_empty_chunked_body_stays_a_body() -> None:
    async with ScriptedEngine(echo) as engine, serving(engine) as gateway:
        await gateway.ask(request_bytes("/x", chunks=[]))
        assert engine.requests[0].header("content-length") == "0"


async def test_continue_is_sent_before_the_body_is_awaited() -> None:
    """RFC 9110 section 10.1.1."""
    async with (
        ScriptedEngine(echo) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        expect = [("expect", "100-continue")]
        head, body = request_bytes("/x", b"body", headers=expect)[:-4], b"body"
        await client.send(head)
        assert (await client.read_head()).status == 100
        await client.send(body)
        assert (await client.read_response()).body.data == b"body"
        assert engine.requests[0].header("expect") is None

        await client.send(head + body)  # a client that does not wait needs no 100
        answer = await client.read_response()
        assert (answer.status, answer.interim) == (200, ())

        chunked = request_bytes("/x", headers=expect, chunks=[b"body"])
        end = chunked.index(b"\r\n\r\n") + 4
        await client.send(chunked[:end])
        assert (await client.read_head()).status == 100
        await client.send(chunked[end:])
        assert (await client.read_response()).body.data == b"body"


async def test_a_refused_request_gets_no_continue() -> None:
    limits = LimitsSettings(max_body_bytes=100)
    keys = (key_spec("team", "secret"),)
    expect = ("expect", "100-continue")
    async with ScriptedEngine() as engine, serving(engine, limits=limits, keys=keys) as gateway:
        for headers, status in (((expect,), 401), ((expect, ("x-api-key", "secret")), 413)):
            async with gateway.client() as client:
                await client.send(request_bytes("/x", b"b" * 200, headers=headers)[:-200])
                answer = await client.read_response()
                assert (answer.status, answer.interim) == (status, ())
                assert answer.header("connection") == "close"
                assert await client.end() == "FIN"
        assert engine.requests == []


async def test_head_is_answered_without_a_body() -> None:
    head_only = Reply(body_reply([b"123456789"]).steps[:1])
    async with (
        ScriptedEngine([head_only, body_reply([b"next"])]) as engine,
        serving(engine) as gateway,
    ):
        async with gateway.client() as client:
            await client.send(request_bytes("/x", method="HEAD"))
            answer = await client.read_response(method="HEAD")
            assert (answer.status, answer.header("content-length")) == (200, "9")
            await client.send(request_bytes("/x", method="GET"))
            assert (await client.read_response(method="GET")).body.data == b"next"
        assert engine.requests[0].method == "HEAD"


async def test_upgrade_to_http2_is_ignored() -> None:
    """RFC 9110 section 7.8; llhttp would end the message at its head."""
    upgrade = [
        ("connection", "Upgrade, HTTP2-Settings"),
        ("upgrade", "h2c"),
        ("http2-settings", "A"),
    ]
    async with (
        ScriptedEngine(echo) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        await client.send(request_bytes("/x", b"body", headers=upgrade) * 2)
        for _ in range(2):
            assert (await client.read_response()).body.data == b"body"
        await client.send(request_bytes("/x", headers=upgrade, chunks=[b"bo", b"dy"]))
        assert (await client.read_response()).body.data == b"body"
        for request in engine.requests:
            assert request.header("upgrade") is None
            assert request.header("http2-settings") is None


async def test_absolute_targets_are_served() -> None:
    """RFC 9112 section 3.2.2."""
    async with ScriptedEngine(echo) as engine, serving(engine) as gateway:
        answer = await gateway.ask(request_bytes("http://b.test/x?y=1", b"body"))
        assert answer.header("x-target") == "/x?y=1"
        assert engine.requests[0].header("x-forwarded-host") == "b.test"


async def test_empty_lines_between_requests_are_skipped() -> None:
    """RFC 9112 section 2.2."""
    async with (
        ScriptedEngine(echo) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        await client.send(
            b"\r\n\r\n" + request_bytes("/x", b"1") + b"\r\n" + request_bytes("/x", b"2")
        )
        await client.send(b"\r\n")
        for expected in (b"1", b"2"):
            assert (await client.read_response()).body.data == expected
        await client.send(b"\r")
        await client.send(b"\n" + request_bytes("/x", b"3"))
        assert (await client.read_response()).body.data == b"3"


@pytest.mark.parametrize("keep", [True, False])
async def test_clients_of_http_1_0(keep: bool) -> None:
    asked = b"POST /v1/completions HTTP/1.0\r\n%bcontent-length: 2\r\n\r\n{}"
    asked %= b"connection: keep-alive\r\n" if keep else b""
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(asked)
        answer = await client.read_response()
        assert answer.status == 200
        assert not answer.head.is_chunked
        assert answer.header("connection") == ("keep-alive" if keep else "close")
        if keep:
            await client.send(asked)
            assert (await client.read_response()).status == 200
        else:
            assert await client.end() == "FIN"


@pytest.mark.parametrize("keep", [True, False])
async def test_a_stream_for_http_1_0_ends_with_the_connection(keep: bool) -> None:
    asked = (
        b"POST /v1/chat/completions HTTP/1.0\r\n%bcontent-length: 15\r\n\r\n" + b'{"stream":true}'
    )
    asked %= b"connection: keep-alive\r\n" if keep else b""
    async with (
        ScriptedEngine([sse_reply([EVENT])]) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        await client.send(asked)
        answer = await client.read_response()
        assert answer.header("transfer-encoding") is None
        assert answer.header("connection") == "close"
        assert answer.body.data.endswith(b"data: [DONE]\n\n")
        assert answer.body.complete


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_client_that_asks_for_a_close_gets_it(method: str) -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(request_bytes("/x", method=method, headers=[("connection", "close")]))
        answer = await client.read_response(method=method)
        assert answer.header("connection") == "close"
        assert await client.end() == "FIN"


@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("size", [0, 1, 65_535, 1_000_000])
async def test_answers_of_every_framing(framing: Framing, size: int) -> None:
    body = random.Random(size).randbytes(size)
    parts = [body] if body else []
    reply = body_reply(parts, framing=framing, content_type="application/octet-stream")
    async with ScriptedEngine([reply, json_reply({})]) as engine, serving(engine) as gateway:
        async with gateway.client() as client:
            for expected in (body, b"{}"):
                await client.send(request_bytes("/x", b"1"))
                answer = await client.read_response()
                assert answer.body.complete
                assert answer.body.data == expected
        assert engine.connections_made == (2 if framing is Framing.UNTIL_CLOSE else 1)


async def test_interim_answers_of_an_engine_are_not_passed_on() -> None:
    reply = json_reply({"ok": True})
    early = reply.preceded_by(informational(103, [("link", "</x>")]), informational(100))
    async with ScriptedEngine([early, early]) as engine, serving(engine) as gateway:
        async with gateway.client() as client:
            for _ in range(2):
                await client.send(request_bytes("/x", b"1"))
                answer = await client.read_response()
                assert (answer.status, answer.interim, answer.header("link")) == (200, (), None)
        assert engine.connections_made == 1
