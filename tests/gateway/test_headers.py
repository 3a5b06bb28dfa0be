"""What goes on, what ends here, and what is put in, in both directions."""

from typing import Any

import pytest
from tests.gateway.harness import engine_spec, key_spec, serving

from proa.routing.spec import RouteSpec, RoutingSpec
from proa.testing.raw_response import RawResponse, request_bytes
from proa.testing.received import ReceivedRequest
from proa.testing.replies import body_reply, json_reply
from proa.testing.scripted_engine import ScriptedEngine

BODY = (
    b'{ "model" :"scripted", "seed":18446744073709551615,"temperature":1.10, "x":1e3,\n'
    b'  "chat_template_kwargs":{"b":1,"a":[ ]},"return_token_ids":true,"seed":2,'
    b'"text":"\\uac00 \xea\xb0\x80 \\/"}'
)
HOP_BY_HOP = [
    ("Connection", "close, X-Foo"),
    ("X-Foo", "1"),
    ("Keep-Alive", "timeout=5"),
    ("Proxy-Authorization", "Basic eA=="),
    ("Proxy-Connection", "keep-alive"),
    ("TE", "trailers"),
    ("Trailer", "x"),
    ("Upgrade", "h2c"),
]


async def forwarded(
    headers: list[tuple[str, str]], **settings: Any
) -> tuple[ReceivedRequest, RawResponse]:
    """What an engine gets of a request with these headers, and its answer."""
    async with ScriptedEngine() as engine, serving(engine, **settings) as gateway:
        answer = await gateway.ask(request_bytes("/v1/completions", b"{}", headers=headers))
        return engine.requests[0], answer


async def test_fields_of_the_connection_end_here() -> None:
    """G96: https://github.com/cloudflare/pingora/issues/706"""
    request, _ = await forwarded([*HOP_BY_HOP, ("X-Bar", "2")])
    for name, _ in HOP_BY_HOP:
        assert request.header(name) is None, name
    assert request.header("x-bar") == "2"
    assert request.header("host") != "gateway.test"
    assert request.header("accept-encoding") == "identity"


async def test_fields_of_the_engines_connection_end_here() -> None:
    """G96 the other way: https://github.com/cloudflare/pingora/issues/706"""
    mine = [
        ("Connection", "keep-alive, X-Foo"),
        ("Connection", "x-baz"),
        ("X-Foo", "1"),
        ("X-Baz", "2"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Authenticate", "Basic"),
        ("Upgrade", "h2c"),
        ("Trailer", "x"),
    ]
    kept = [("Server", "uvicorn"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("ETag", '"x"')]
    reply = json_reply({}, headers=[*mine, *kept])
    async with ScriptedEngine([reply]) as engine, serving(engine) as gateway:
        answer = await gateway.ask(request_bytes("/x", b"1"))
        for name, _ in mine:
            assert answer.header(name) is None, name
        assert [pair for pair in answer.head.headers if pair in kept] == kept


async def test_the_request_is_told_where_it_came_through() -> None:
    request, _ = await forwarded([])
    assert request.header_values("via") == ["1.1 proa-harness"]
    assert request.header_values("x-forwarded-for") == ["127.0.0.1"]
    assert request.header_values("x-forwarded-proto") == ["http"]
    assert request.header_values("x-forwarded-host") == ["gateway.test"]


FORGED = [
    ("X-Forwarded-For", "10.1.1.1"),
    ("x-forwarded-for", "10.2.2.2"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "public.test"),
    ("Forwarded", "for=10.1.1.1"),
]


@pytest.mark.parametrize("trusted", [(), ("10.0.0.0/8", "::1")])
async def test_a_clients_word_on_where_it_came_from_is_not_believed(trusted: tuple[str]) -> None:
    request, _ = await forwarded(FORGED, trusted_proxies=trusted)
    assert request.header_values("x-forwarded-for") == ["127.0.0.1"]
    assert request.header_values("x-forwarded-proto") == ["http"]
    assert request.header_values("x-forwarded-host") == ["gateway.test"]
    assert request.header("forwarded") is None


@pytest.mark.parametrize("trusted", ["127.0.0.1", "127.0.0.0/8"])
async def test_a_trusted_proxys_word_is_kept_and_continued(trusted: str) -> None:
    request, _ = await forwarded(FORGED, trusted_proxies=(trusted,))
    assert request.header_values("x-forwarded-for") == ["10.1.1.1, 10.2.2.2, 127.0.0.1"]
    assert request.header_values("x-forwarded-proto") == ["https"]
    assert request.header_values("x-forwarded-host") == ["public.test"]
    here = 'for=127.0.0.1;host="gateway.test";proto=http'
    assert request.header_values("forwarded") == [f"for=10.1.1.1, {here}"]


CREDENTIALS = [("Authorization", "Bearer secret"), ("X-Api-Key", "secret")]


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/messages", "/custom/path", "/api/chat"])
@pytest.mark.parametrize("credential", [CREDENTIALS[:1], CREDENTIALS[1:], CREDENTIALS])
@pytest.mark.parametrize("engine_key", ["", "engine-secret"])
async def test_a_gateway_key_never_leaves(
    path: str, credential: list[tuple[str, str]], engine_key: str
) -> None:
    """G97: https://github.com/BerriAI/litellm/issues/32202"""
    keys = (key_spec("team", "secret"),)
    async with ScriptedEngine() as engine:
        spec = engine_spec(engine, "main", api_key=engine_key)
        async with serving(spec, keys=keys) as gateway:
            request = request_bytes(path, b"{}", headers=credential)
            assert (await gateway.ask(request)).status == 200
            got = engine.requests[0]
            assert got.header("x-api-key") is None
            wanted = [f"Bearer {engine_key}"] if engine_key else []
            assert got.header_values("authorization") == wanted
            assert b"Bearer secret" not in got.raw


async def test_an_open_gateway_passes_the_clients_credentials_on() -> None:
    request, _ = await forwarded(CREDENTIALS)
    assert request.header_values("authorization") == ["Bearer secret"]
    assert request.header_values("x-api-key") == ["secret"]


async def test_an_engines_own_key_replaces_the_clients_credentials() -> None:
    async with ScriptedEngine() as engine:
        async with serving(engine_spec(engine, "main", api_key="engine-secret")) as gateway:
            await gateway.ask(request_bytes("/x", b"{}", headers=CREDENTIALS))
        assert engine.requests[0].header_values("authorization") == ["Bearer engine-secret"]
        assert engine.requests[0].header("x-api-key") is None


@pytest.mark.parametrize("sent", ["abc-123_X.y", "a" * 128])
async def test_a_plain_request_id_is_kept(sent: str) -> None:
    request, answer = await forwarded([("X-Request-Id", sent)])
    assert request.header_values("x-request-id") == [sent]
    assert answer.header("x-request-id") == sent


@pytest.mark.parametrize("sent", [None, "", "a b", "a" * 129, "x;y", "\xe9"])
async def test_another_request_id_is_replaced(sent: str | None) -> None:
    request, answer = await forwarded([] if sent is None else [("x-request-id", sent)])
    made = answer.header("x-request-id")
    assert made is not None
    assert made not in (sent, "")
    assert request.header_values("x-request-id") == [made]


async def test_every_answer_has_one_request_id_of_its_own() -> None:
    reply = json_reply({}, headers=[("x-request-id", "engine"), ("x-proa-engine", "forged")])
    async with ScriptedEngine(lambda _: reply) as engine, serving(engine) as gateway:
        seen = set()
        async with gateway.client() as client:
            for path in ("/x", "/v1/models", "/x"):
                await client.send(request_bytes(path, method="GET"))
                answer = await client.read_response(method="GET")
                seen.add(answer.header("x-request-id"))
                assert answer.header("x-proa-engine") == ("main" if path == "/x" else None)
        assert len(seen) == 3
        assert "engine" not in seen


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_goes_on_byte_for_byte(chunked: bool) -> None:
    """G92: https://github.com/vllm-project/router/issues/161"""
    chunks = [BODY[:10], BODY[10:]] if chunked else None
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        request = request_bytes("/v1/chat/completions", BODY, chunks=chunks)
        assert (await gateway.ask(request)).status == 200
        assert bytes(engine.requests[0].body) == BODY
        assert engine.requests[0].header_values("content-length") == [str(len(BODY))]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1, 2]",
        b"\xef\xbb\xbf{}",
        b'{"model":NaN}',
        b'{"stream":"true"}',
        b'{"a":' * 5000,
        b"\x00\xff" * 100,
    ],
)
async def test_a_body_that_cannot_be_read_goes_on_untouched(body: bytes) -> None:
    async with ScriptedEngine([json_reply({})]) as engine, serving(engine) as gateway:
        await gateway.ask(request_bytes("/v1/chat/completions", body))
        assert bytes(engine.requests[0].body) == body


async def test_a_rewritten_field_leaves_the_others_byte_for_byte() -> None:
    routing = RoutingSpec(routes=(RouteSpec(name="alias", model="real"),))
    body = (
        b'{"model":"alias","seed":18446744073709551615,"temperature":1.10,'
        b'"x":1e3,"chat_template_kwargs":{"b": 1,"a":[ ]},"text":"\\uac00 \xea\xb0\x80 \\/"}'
    )
    async with ScriptedEngine() as engine, serving(engine, routing=routing) as gateway:
        gateway.see(models={"main": ["real"]})
        answer = await gateway.ask(request_bytes("/v1/chat/completions", body))
        assert answer.status == 200
        assert bytes(engine.requests[0].body) == body.replace(b'"alias"', b'"real"')
        assert engine.requests[0].header("content-length") == str(len(body) - 1)


@pytest.mark.parametrize("target", ["/x?a=b&c=%20d", "/x%2fy", "/x//y/./z", "/x?", "/v1/x?a=/b?c"])
async def test_a_target_goes_on_as_it_is(target: str) -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        await gateway.ask(request_bytes(target, b"1"))
        assert engine.requests[0].target == target


async def test_an_engines_path_goes_before_the_target() -> None:
    async with ScriptedEngine() as engine, serving(f"{engine.url}/prefix") as gateway:
        await gateway.ask(request_bytes("/v1/x?y", b"1"))
        assert engine.requests[0].target == "/prefix/v1/x?y"


async def test_an_engines_content_type_and_retry_after_are_kept() -> None:
    reply = body_reply([b"x"], content_type="audio/mpeg", headers=[("Retry-After", "7")])
    async with ScriptedEngine([reply]) as engine, serving(engine) as gateway:
        answer = await gateway.ask(request_bytes("/v1/audio/speech", b"{}"))
        assert (answer.header("content-type"), answer.header("retry-after")) == ("audio/mpeg", "7")
