"""Attacks by size, depth, characters and slowness of heads and bodies."""

import asyncio
import json
from contextlib import AsyncExitStack

import msgspec
import pytest
from tests.attacks.gateways import LIMITS, USER, innocent, under_attack
from tests.attacks.register import resisted
from tests.gateway.harness import Gateway

from proa.guard.policy import GuardSettings
from proa.telemetry.rows import Header
from proa.testing.raw_response import RawResponse, request_bytes

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer user\r\n"
DEPTH = 100_000


async def ask(gateway: Gateway, body: bytes, path: str = "/v1/chat/completions") -> RawResponse:
    return await gateway.ask(request_bytes(path, body, headers=[USER]))


@resisted("Heads and bodies that are too large", 413, 414, 431)
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", 414),
        (HEAD + b"x: " + b"a" * 20_000 + b"\r\n\r\n", 431),
        (HEAD + b"x: 1\r\n" * 5000 + b"\r\n", 431),
        (HEAD + b"".join(b"x-%d: 1\r\n" % n for n in range(3000)) + b"\r\n", 431),
        (HEAD + b"content-length: 4194305\r\n\r\n", 413),
        (HEAD + b"content-length: 18446744073709551615\r\n\r\n", 413),
        (HEAD + b"transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"x: 1\r\n" * 5000 + b"\r\n", 431),
    ],
)
async def test_oversize(data: bytes, status: int) -> None:
    async with under_attack() as (gateway, engine), gateway.client() as client:
        await client.send(data)
        assert (await client.read_response()).status == status
        await innocent(gateway)
        assert len(engine.requests) == 1
        assert gateway.header(Header.BODY_BYTES) == 0


@resisted("Slow heads and bodies (slowloris)", 408)
@pytest.mark.parametrize(
    ("begin", "gone_after_s"),
    [(HEAD, LIMITS.head_timeout_s), (HEAD + b"content-length: 1000000\r\n\r\n{", 6.0)],
)
async def test_slowloris(begin: bytes, gone_after_s: float) -> None:
    """A hundred clients that drip; by the gateway's clock they are gone in time."""
    async with AsyncExitStack() as stack:
        gateway, engine = await stack.enter_async_context(under_attack())
        clients = [await stack.enter_async_context(gateway.client()) for _ in range(100)]
        for client in clients:
            await client.send(begin)
        await gateway.until(lambda: begun(gateway) == 100)
        await innocent(gateway)
        for _ in range(9):
            for client in clients:
                await client.send(b"x")
            for _ in range(10):
                await asyncio.sleep(0)
            gateway.advance(gone_after_s / 8.5)
        for client in clients:
            assert (await client.read_response()).status == 408
        await innocent(gateway)
        assert len(engine.requests) == 2


def begun(gateway: Gateway) -> int:
    """Clients whose head or body has begun and is not whole."""
    heads = sum(connection.head_since > 0 for connection in gateway.plane.connections)
    return heads + gateway.header(Header.BODY_BYTES)


def deep(mark: bytes, end: bytes) -> bytes:
    return b'{"model":"scripted","messages":' + mark * DEPTH + b"1" + end * DEPTH + b"}"


DEEP = {
    "lists": deep(b"[", b"]"),
    "objects": deep(b'{"a":', b"}"),
    "lists before the model": b'{"x":' + b"[" * DEPTH + b"]" * DEPTH + b',"model":"scripted"}',
    "open lists": b'{"model":"scripted","messages":' + b"[" * DEPTH,
    "lists in the model": b'{"model":' + b"[" * DEPTH + b"]" * DEPTH + b"}",
    "JSON in arguments": json.dumps(
        {
            "model": "scripted",
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"function": {"name": "f", "arguments": "[" * DEPTH}}],
                }
            ],
        }
    ).encode(),
}


@resisted("JSON of 100,000 levels", 200, 400)
@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/api/chat"])
async def test_deep_json(name: str, path: str) -> None:
    """Passed on as it is, or refused; the filter, where it is on, never lets it by unread."""
    async with under_attack() as (gateway, engine):
        answer = await ask(gateway, DEEP[name], path)
        assert answer.status in (200, 400)
        if answer.status == 200:
            assert bytes(engine.requests[0].body) == DEEP[name]
        await innocent(gateway)


@resisted("JSON of 100,000 levels", 400)
@pytest.mark.parametrize("name", DEEP)
async def test_deep_json_before_the_filter(name: str) -> None:
    async with under_attack(guard=GuardSettings()) as (gateway, _):
        answer = await ask(gateway, DEEP[name])
        assert answer.status == (200 if name == "JSON in arguments" else 400)
        await innocent(gateway)


CHARACTERS = {
    "invalid UTF-8": b'{"model":"scripted","prompt":"\xff\xfe\xc0\xaf"}',
    "invalid UTF-8 in the model": b'{"model":"\xff\xfe"}',
    "an overlong slash": b'{"model":"a\xc0\xafb"}',
    "a lone surrogate": b'{"model":"scripted","prompt":"\\ud800"}',
    "a lone surrogate in the model": b'{"model":"\\ud800"}',
    "a surrogate in UTF-8": b'{"model":"\xed\xa0\x80"}',
    "NUL": b'{"model":"scripted\0"}',
    "an escaped NUL in the model": b'{"model":"scripted\\u0000"}',
    "UTF-16": '{"model":"scripted"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"model":"scripted"}',
    "the model twice": b'{"model":"scripted","model":"other"}',
    "huge numbers": b'{"model":"scripted","max_tokens":1' + b"0" * 100_000 + b"}",
    "a huge exponent": b'{"model":"scripted","temperature":1e999999}',
    "not a number": b'{"model":"scripted","temperature":NaN}',
}


@resisted("Invalid UTF-8, lone surrogates, NUL, numbers without end", 200, 404)
@pytest.mark.parametrize("name", CHARACTERS)
async def test_characters(name: str) -> None:
    """The engine gets the bytes that came, or nothing; the answer's head stays clean."""
    async with under_attack() as (gateway, engine):
        answer = await ask(gateway, CHARACTERS[name])
        assert answer.status in (200, 404)
        assert [bytes(r.body) for r in engine.requests] == [CHARACTERS[name]] * (
            answer.status == 200
        )
        assert answer.head.raw.isascii()
        await innocent(gateway)


NAMES = [
    "a\r\nx-injected: yes",
    "a\nx-injected: yes",
    "a\r\n\r\n<html>",
    "a\x00b",
    "한국어-모델",
    "\u2028",
    "\x85x-injected: yes",
    "\u560d\u560ax-injected: yes",
    "a" * 10_000,
    '"><script>',
    "../../etc/passwd",
]


@resisted("Header injection by names of models and request ids", 200, 404)
@pytest.mark.parametrize("name", NAMES)
async def test_names_in_headers(name: str) -> None:
    """As a model that nobody has, as one that the engine has, and as a request id."""
    body = json.dumps({"model": name}).encode()
    async with under_attack() as (gateway, engine):
        unknown = await ask(gateway, body)
        gateway.see(models={"main": ["scripted", name]})
        known = await ask(gateway, body)
        listed = await gateway.ask(
            request_bytes("/v1/models", method="GET", headers=[USER]), method="GET"
        )
        assert (unknown.status, known.status, listed.status) == (404, 200, 200)
        for answer in (unknown, known, listed):
            assert answer.head.raw.isascii()
            assert answer.header("x-injected") is None
            assert answer.head.raw.count(b"\r\n\r\n") == 1
        assert name in [card["id"] for card in msgspec.json.decode(listed.body.data)["data"]]
        await innocent(gateway)
        assert all(request.header("x-injected") is None for request in engine.requests)


@resisted("Header injection by names of models and request ids", 400)
@pytest.mark.parametrize(
    "value", [b"a\rx-injected: yes", b"a\nx-injected: yes", b"a\0b", b"a\r\n x-injected: yes"]
)
async def test_request_ids_that_break_lines(value: bytes) -> None:
    async with under_attack() as (gateway, engine), gateway.client() as client:
        await client.send(HEAD + b"x-request-id: " + value + b"\r\ncontent-length: 0\r\n\r\n")
        answer = await client.read_response()
        assert (answer.status, answer.header("x-injected")) == (400, None)
        assert engine.requests == []
