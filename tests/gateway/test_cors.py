"""Browsers: preflights and the headers that let a page read an answer."""

import pytest
from tests.gateway.harness import key_spec, serving

from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine

PAGE = "https://chat.example"
PREFLIGHT = [("Origin", PAGE), ("Access-Control-Request-Method", "POST")]
KEYS = (key_spec("team", "secret"),)


@pytest.mark.parametrize("origins", [(PAGE,), ("*",), ("https://x.example", PAGE)])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "*"])
async def test_a_preflight_is_answered_without_a_key(origins: tuple[str, ...], path: str) -> None:
    """G94: https://github.com/envoyproxy/ai-gateway/issues/965"""
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS, cors_allow_origins=origins) as gateway,
        gateway.client() as client,
    ):
        await client.send(request_bytes(path, method="OPTIONS", headers=PREFLIGHT))
        answer = await client.read_response(method="OPTIONS")
        assert answer.status == 204
        assert answer.header("access-control-allow-origin") == PAGE
        assert "POST" in str(answer.header("access-control-allow-methods"))
        assert "authorization" in str(answer.header("access-control-allow-headers"))
        assert answer.header("vary") == "origin"
        assert answer.header("content-length") is None
        await client.send(json_request({}, headers=[("x-api-key", "secret"), ("origin", PAGE)]))
        answer = await client.read_response()
        assert answer.status == 200
        assert answer.header("access-control-allow-origin") == PAGE
        assert "x-request-id" in str(answer.header("access-control-expose-headers"))
        assert len(engine.requests) == 1


@pytest.mark.parametrize(
    ("origins", "headers"),
    [
        ((), PREFLIGHT),
        (("https://other.example",), PREFLIGHT),
        (("*",), PREFLIGHT[:1]),
        (("*",), PREFLIGHT[1:]),
        (("*",), []),
    ],
)
async def test_any_other_options_is_405(
    origins: tuple[str, ...], headers: list[tuple[str, str]]
) -> None:
    """G94: https://github.com/envoyproxy/ai-gateway/issues/965"""
    async with ScriptedEngine() as engine, serving(engine, cors_allow_origins=origins) as gateway:
        answer = await gateway.ask(request_bytes("/x", method="OPTIONS", headers=headers))
        assert answer.status == 405
        assert "POST" in str(answer.header("allow"))
        assert engine.requests == []


async def test_a_preflight_with_a_body_does_not_confuse_the_connection() -> None:
    request = request_bytes("/x", b"GET /secret HTTP/1.1", method="OPTIONS", headers=PREFLIGHT)
    async with (
        ScriptedEngine() as engine,
        serving(engine, cors_allow_origins=("*",)) as gateway,
        gateway.client() as client,
    ):
        await client.send(request + request_bytes("/y", b"1"))
        assert (await client.read_response(method="OPTIONS")).status == 204
        assert (await client.read_response()).status == 200
        assert [got.target for got in engine.requests] == ["/y"]


async def test_the_gateway_alone_says_which_pages_may_read() -> None:
    headers = [("Access-Control-Allow-Origin", "*"), ("access-control-allow-credentials", "true")]
    reply = json_reply({}, headers=headers)
    for origins, allowed in (((), None), ((PAGE,), PAGE), (("https://x.example",), None)):
        async with (
            ScriptedEngine([reply]) as engine,
            serving(engine, cors_allow_origins=origins) as gateway,
        ):
            answer = await gateway.ask(request_bytes("/x", b"1", headers=[("origin", PAGE)]))
            assert answer.header("access-control-allow-origin") == allowed
            assert answer.header("access-control-allow-credentials") is None


async def test_a_page_can_read_errors_too() -> None:
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS, cors_allow_origins=("*",)) as gateway,
    ):
        answer = await gateway.ask(request_bytes("/x", b"1", headers=[("origin", PAGE)]))
        assert answer.status == 401
        assert answer.header("access-control-allow-origin") == PAGE
