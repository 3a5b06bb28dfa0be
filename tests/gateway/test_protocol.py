"""What breaks HTTP is refused with the right status, and the client can read it."""

import asyncio

import msgspec
import pytest
from tests.gateway.harness import Gateway, serving

from proa.domain.fleet import EngineSpec
from proa.gateway.settings import LimitsSettings
from proa.telemetry.rows import Header
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import RawResponse, json_request, request_bytes
from proa.testing.scripted_engine import ScriptedEngine

POST = b"POST /v1/completions HTTP/1.1\r\nhost: a\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nhost: a\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"
REFUSED = {
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "bare LF": (b"GET / HTTP/1.1\nhost: a\n\n", 400),
    "folded line": (GET + b"x: y\r\n z\r\n\r\n", 400),
    "double length": (POST + b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}", 400),
    "both lengths": (POST + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}", 400),
    "bad chunk size": (CHUNKED + b"zz\r\n", 400),
    "no CRLF after a chunk": (CHUNKED + b"2\r\n{}0\r\n\r\n", 400),
    "garbage": (b"\x00\x01\x02\x03\x04", 400),
    "TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)), 400),
    "TRACE": (b"TRACE / HTTP/1.1\r\nhost: a\r\n\r\n", 405),
    "CONNECT": (b"CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n", 405),
    "long target": (b"GET /" + b"a" * 70_000, 414),
    "encoded body": (POST + b"content-encoding: gzip\r\ncontent-length: 5\r\n\r\n", 415),
    "expectation": (POST + b"expect: tea\r\ncontent-length: 5\r\n\r\n", 417),
    "large head": (GET + b"x: " + b"a" * 70_000, 431),
    "large trailers": (CHUNKED + b"0\r\nx: " + b"a" * 20_000, 431),
    "unknown method": (b"BREW / HTTP/1.1\r\nhost: a\r\n\r\n", 501),
    "coding": (POST + b"transfer-encoding: gzip, chunked\r\n\r\n", 501),
    "WebSocket": (GET + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n", 501),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "HTTP/3.0": (b"GET / HTTP/3.0\r\nhost: a\r\n\r\n", 505),
}


async def refused(client: RawClient, gateway: Gateway, status: int) -> RawResponse:
    """Read an answer that ends its connection."""
    answer = await client.read_response()
    assert answer.status == status
    assert answer.header("connection") == "close"
    assert answer.header("x-request-id")
    error = answer.body.json()
    assert isinstance(error, dict)
    assert set(error["error"]) == {"message", "type", "param", "code"}
    assert await client.end() == "FIN"
    return answer


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused(name: str) -> None:
    data, status = REFUSED[name]
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        async with gateway.client() as client:
            await client.send(data)
            await refused(client, gateway, status)
            assert gateway.header(Header.REFUSED_PROTOCOL) == 1
        await gateway.until_clear()
        assert engine.requests == []


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_behind_a_good_request(name: str) -> None:
    """The good request is answered first; the refusal is no part of its answer."""
    data, status = REFUSED[name]
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        async with gateway.client() as client:
            await client.send(json_request({"model": "scripted"}) + data)
            assert (await client.read_response()).status == 200
            await refused(client, gateway, status)
        assert len(engine.requests) == 1


@pytest.mark.parametrize("name", ["long target", "large head", "large trailers"])
async def test_a_client_that_is_still_sending_can_read_the_refusal(name: str) -> None:
    """RFC 9112 section 9.6: unread bytes at a close would reset the connection."""
    data, status = REFUSED[name]

    async def send_on(client: RawClient) -> None:
        await client.send(data)
        for _ in range(64):
            await client.send(b"a" * 65_536)

    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        sending = asyncio.ensure_future(send_on(client))
        await refused(client, gateway, status)
        await sending


async def test_a_client_that_never_stops_sending_is_cut_after_the_linger_time() -> None:
    limits = LimitsSettings(linger_s=2.0)
    async with (
        ScriptedEngine() as engine,
        serving(engine, limits=limits) as gateway,
        gateway.client() as client,
    ):
        await client.send(b"BREW / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert (await client.read_response()).status == 501
        gateway.advance(1.0)
        assert gateway.header(Header.CONNECTIONS) == 1
        gateway.advance(1.5)
        await gateway.until_clear()


async def test_a_client_that_refuses_to_read_is_cut_after_the_linger_time() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(GET + b"connection: close\r\n\r\n")
        await gateway.until(lambda: gateway.header(Header.REQUESTS) == 1)
        gateway.advance(3.0)
        await gateway.until_clear()


async def test_a_request_that_was_here_before_meets_508() -> None:
    """A loop: an engine's url leads back to the gateway (RFC 9110 section 7.6.3)."""
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        via = [("via", "1.0 fred, 1.1 proa-harness, 1.1 nginx")]
        answer = await gateway.ask(request_bytes("/v1/completions", b"{}", headers=via))
        assert answer.status == 508
        other = [("via", "1.1 proa-another")]
        answer = await gateway.ask(request_bytes("/v1/completions", b"{}", headers=other))
        assert answer.status == 200
        assert engine.requests[0].header_values("via") == ["1.1 proa-another, 1.1 proa-harness"]


async def test_a_loop_through_the_gateway_itself_ends() -> None:
    async with serving("http://127.0.0.1:9") as gateway:
        itself = EngineSpec(name="main", url=gateway.url)
        gateway.apply(msgspec.structs.replace(gateway.plane.settings, engines=(itself,)))
        answer = await gateway.ask(request_bytes("/v1/completions", b"{}"))
        assert answer.status == 508
        await gateway.until_idle()


async def test_what_never_became_a_request_has_a_line_in_the_log() -> None:
    """Its id was told to the client, so it must be found."""
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(b"GARBAGE\r\n\r\n")
        answer = await refused(client, gateway, 400)
        [record] = gateway.records
        assert (record.request_id, record.status) == (answer.header("x-request-id"), 400)
