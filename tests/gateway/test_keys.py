"""Keys: who is let in, in each API's words, and how many requests a key may have open."""

import asyncio

import msgspec
import pytest
from tests.gateway.harness import key_spec, serving

from proa.telemetry.rows import Header, Key
from proa.testing.raw_response import RawResponse, json_request, request_bytes
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Stall, WaitFor

KEYS = (key_spec("team", "secret"), key_spec("other", "hush", max_concurrent_requests=2))
CREDENTIALS = {
    "bearer": [("Authorization", "Bearer secret")],
    "bearer in small letters": [("authorization", "bearer secret")],
    "x-api-key": [("x-api-key", "secret")],
    "both": [("authorization", "Bearer secret"), ("x-api-key", "nonsense")],
    "x-api-key beside another scheme": [("authorization", "Basic eA=="), ("x-api-key", "secret")],
}
WRONG = {
    "none": [],
    "empty bearer": [("authorization", "Bearer ")],
    "another scheme": [("authorization", "Basic c2VjcmV0")],
    "wrong bearer": [("authorization", "Bearer Secret")],
    "a part": [("authorization", "Bearer secre")],
    "more": [("authorization", "Bearer secret1")],
    "wrong x-api-key": [("x-api-key", "wrong")],
    "empty x-api-key": [("x-api-key", "")],
    "not ASCII": [("x-api-key", "\xe9\xff")],
}


@pytest.mark.parametrize("name", CREDENTIALS)
async def test_a_key_is_taken_in_either_form(name: str) -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        answer = await gateway.ask(json_request({}, headers=CREDENTIALS[name]))
        assert answer.status == 200
        assert gateway.key("team", Key.REQUESTS) == 1
        assert gateway.records[0].key == "team"


@pytest.mark.parametrize("name", WRONG)
async def test_no_key_or_a_wrong_one_is_refused(name: str) -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        answer = await gateway.ask(json_request({}, headers=WRONG[name]))
        assert answer.status == 401
        assert answer.header("www-authenticate") == 'Bearer realm="proa"'
        assert gateway.header(Header.REFUSED_AUTH) == 1
        assert engine.requests == []


@pytest.mark.parametrize("path", ["/v1/load_lora_adapter", "/v1/%6coad_lora_adapter/", "/metrics"])
async def test_only_an_admin_key_reaches_what_manages_engines(path: str) -> None:
    admin = msgspec.structs.replace(key_spec("boss", "chief"), admin=True)
    async with ScriptedEngine() as engine, serving(engine, keys=(*KEYS, admin)) as gateway:
        asked = json_request({}, path, headers=[("x-api-key", "secret")])
        answer = await gateway.ask(asked)
        assert answer.status == 403
        assert b'"code":"forbidden"' in answer.body.data.replace(b" ", b"")
        assert engine.requests == []
        asked = json_request({}, path, headers=[("x-api-key", "chief")])
        assert (await gateway.ask(asked)).status == 200
        assert len(engine.requests) == 1


def error(answer: RawResponse) -> object:
    body = answer.body.json()
    assert isinstance(body, dict)
    return body


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/tokenize", "/other"])
async def test_refusals_in_the_words_of_openai(path: str) -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        answer = await gateway.ask(request_bytes(path, b"{}"))
        assert answer.header("content-type") == "application/json"
        assert error(answer) == {
            "error": {
                "message": "missing API key: send Authorization: Bearer KEY or x-api-key: KEY",
                "type": "authentication_error",
                "param": None,
                "code": "invalid_api_key",
            }
        }


async def test_refusals_in_the_words_of_anthropic() -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        request = request_bytes("/v1/messages", b"{}", headers=[("x-api-key", "wrong")])
        assert error(await gateway.ask(request)) == {
            "type": "error",
            "error": {
                "type": "authentication_error",
                "message": "wrong API key: send Authorization: Bearer KEY or x-api-key: KEY",
            },
        }


async def test_refusals_in_the_words_of_ollama() -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        answer = await gateway.ask(request_bytes("/api/chat", b"{}"))
        assert error(answer) == {
            "error": "missing API key: send Authorization: Bearer KEY or x-api-key: KEY"
        }


async def test_an_empty_list_of_keys_lets_nobody_in() -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=()) as gateway:
        assert (await gateway.ask(json_request({}))).status == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_needs_no_key(path: str) -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        assert (await gateway.ask(request_bytes(path, method="GET"))).status == 200


@pytest.mark.parametrize("path", ["/v1/models", "/healthz/", "/healthz?x", "//healthz", "/x"])
async def test_nothing_but_health_goes_without_a_key(path: str) -> None:
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        status = (await gateway.ask(request_bytes(path, method="GET"))).status
        assert status == (200 if path == "/healthz?x" else 401)


async def test_a_refused_client_that_still_sends_its_body_can_read_why() -> None:
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS) as gateway,
        gateway.client() as client,
    ):
        sending = asyncio.ensure_future(client.send(request_bytes("/x", b"b" * 20_000_000)))
        answer = await client.read_response()
        assert (answer.status, answer.header("connection")) == (401, "close")
        assert await client.end() == "FIN"
        await sending


async def test_the_next_request_on_a_connection_is_judged_by_its_own_key() -> None:
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS) as gateway,
        gateway.client() as client,
    ):
        for key, status in (("secret", 200), ("wrong", 401), ("secret", 200), ("hush", 200)):
            await client.send(json_request({}, headers=[("x-api-key", key)]))
            assert (await client.read_response()).status == status
        assert gateway.key("team", Key.REQUESTS) == 2
        assert gateway.key("other", Key.REQUESTS) == 1


async def test_a_key_that_was_removed_counts_no_more_on_an_open_connection() -> None:
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS) as gateway,
        gateway.client() as client,
    ):
        request = json_request({}, headers=CREDENTIALS["bearer"])
        await client.send(request)
        assert (await client.read_response()).status == 200
        gateway.apply(msgspec.structs.replace(gateway.plane.settings, keys=KEYS[1:]))
        await client.send(request)
        assert (await client.read_response()).status == 401


async def test_a_key_has_so_many_requests_open_at_one_time() -> None:
    gate = asyncio.Event()
    slow = json_reply({}).preceded_by(WaitFor(gate))
    request = json_request({}, headers=[("x-api-key", "hush")])
    async with ScriptedEngine([slow, slow]) as engine, serving(engine, keys=KEYS) as gateway:
        waiting = [asyncio.ensure_future(gateway.ask(request)) for _ in range(2)]
        await engine.wait_running(2)
        refused = await gateway.ask(request)
        assert (refused.status, refused.header("retry-after")) == (429, "1")
        assert gateway.header(Header.REFUSED_KEY_CAP) == 1
        others = json_request({}, headers=[("x-api-key", "secret")])
        assert (await gateway.ask(others)).status == 200
        gate.set()
        await asyncio.gather(*waiting)
        assert (await gateway.ask(request)).status == 200


async def test_a_cap_holds_over_a_reload() -> None:
    async with (
        ScriptedEngine([Reply((Stall(),))] * 2) as engine,
        serving(engine, keys=KEYS) as gateway,
    ):
        request = json_request({}, headers=[("x-api-key", "hush")])
        async with gateway.client() as first, gateway.client() as second:
            for client in (first, second):
                await client.send(request)
            await engine.wait_running(2)
            gateway.apply(gateway.plane.settings)
            assert (await gateway.ask(request)).status == 429
        await gateway.until_clear()
        assert (await gateway.ask(request)).status == 200


async def test_a_cap_holds_over_all_workers() -> None:
    """The other worker's row counts, too."""
    async with ScriptedEngine() as engine, serving(engine, keys=KEYS) as gateway:
        request = json_request({}, headers=[("x-api-key", "hush")])
        gateway.rows.use(2)
        cell = gateway.plane.doorkeeper._keys.find({b"x-api-key": b"hush"})._base + Key.IN_FLIGHT  # type: ignore[union-attr]
        gateway.rows.rows[2][cell] = 2
        gateway.plane.sweep()  # from now on it looks at the second row, too
        assert (await gateway.ask(request)).status == 429
        gateway.rows.rows[2][cell] = 1
        assert (await gateway.ask(request)).status == 200


async def test_a_gateway_that_is_opened_meanwhile_lets_no_key_out() -> None:
    """An exchange keeps the settings that it began with."""
    keys = (key_spec("team", "secret"),)
    request = request_bytes("/x", b"{}", headers=[("authorization", "Bearer secret")])
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=keys) as gateway,
        gateway.client() as client,
    ):
        await client.send(request[:-1])
        await gateway.until(lambda: gateway.header(Header.BODY_BYTES) == 1)
        gateway.apply(msgspec.structs.replace(gateway.plane.settings, keys=None))
        await client.send(request[-1:])
        assert (await client.read_response()).status == 200
        assert engine.requests[0].header("authorization") is None
