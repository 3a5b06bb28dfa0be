"""Attacks on paths, hosts and keys in URLs."""

import pytest
from tests.attacks.gateways import ADMIN, USER, echo, innocent, under_attack
from tests.attacks.register import resisted
from tests.gateway.harness import serving

from proa.config.fields import path as config_path
from proa.config.fields import path_prefix
from proa.routing.spec import MatchSpec, RouteSpec, RoutingSpec
from proa.testing.raw_response import request_bytes
from proa.testing.scripted_engine import ScriptedEngine

CLIMBING = [
    "/..",
    "/../etc/passwd",
    "/v1/../sleep",
    "/v1/..;/sleep",
    "/v1/..;x=y/sleep",
    "/v1/%2e%2e/sleep",
    "/v1/%2E./sleep",
    "/v1/.%2e/sleep",
    "/v1/..%2fsleep",
    "/v1%2f../sleep",
    "/v1%2F%2e%2e%2Fsleep",
    "/v1/..%3b/sleep",
    "/v1/..\\sleep",
    "/v1\\..\\sleep",
    "/v1/..%5csleep",
    "http://a/../sleep",
    "http://a/v1/%2e%2e",
]


@resisted("Path traversal: `/..`, `%2e%2e`, `..;`, `..%2f`, backslashes", 400)
@pytest.mark.parametrize("target", CLIMBING)
async def test_a_path_that_climbs(target: str) -> None:
    """Also before an engine with a path of its own, which nothing may leave."""
    async with ScriptedEngine(echo) as engine, serving(f"{engine.url}/llm") as gateway:
        answer = await gateway.ask(request_bytes(target, b"{}"))
        assert answer.status == 400
        assert engine.requests == []


MANAGEMENT = [
    "/sleep",
    "/sleep/",
    "//sleep",
    "/./sleep",
    "/%73leep",
    "/SLEEP",
    "/sl%65ep",
    "/%2fsleep",
    "/sleep%2f",
    "\\sleep",
    "/v1/load_lora_adapter",
    "/v1//load_lora_adapter",
    "/v1%2fload_lora_adapter",
    "/v2/repository/models/a/unload",
    "/metrics",
    "/%6d%65%74%72%69%63%73",
    "http://other.test/sleep",
    "http://other.test//%73leep?x",
    "/sleep?api_key=admin",
]


@resisted("Paths that manage an engine, in every encoding, with a user's key", 400, 403)
@pytest.mark.parametrize("target", MANAGEMENT)
async def test_managing_an_engine_with_a_users_key(target: str) -> None:
    async with under_attack() as (gateway, engine):
        answer = await gateway.ask(request_bytes(target, b"{}", headers=[USER]))
        assert answer.status == (403 if target[0] in "/h" else 400)
        await innocent(gateway)
        assert [request.target for request in engine.requests] == ["/v1/completions"]


ROUTES = RoutingSpec(
    routes=(RouteSpec(name="chat", match=MatchSpec(path="/v1/*"), rewrite_path="/v1/completions"),)
)


@resisted("Routes by path: nothing climbs out of a `rewrite_path`", 200, 400)
async def test_what_a_route_rewrites() -> None:
    async with under_attack(routing=ROUTES) as (gateway, engine):
        for target in ("/v1/x", "/v1/;/y", "/v1/%252e%252e/sleep", "/v1//sleep", "/v1/x?/../y"):
            answer = await gateway.ask(request_bytes(target, b"{}", headers=[USER]))
            assert answer.status == 200
        assert {request.path for request in engine.requests} == {"/v1/completions"}
        answer = await gateway.ask(request_bytes("/v1/x/../y", b"{}", headers=[USER]))
        assert answer.status == 400


@resisted("Routes by path: nothing climbs out of a `rewrite_path`", 400)
@pytest.mark.parametrize("value", ["/v1/../x", "/%2e%2e/x", "/a/.%2E", "//h/x", "/..;/x", "x", ""])
def test_paths_that_a_configuration_may_not_have(value: str) -> None:
    for accepts in (config_path, path_prefix):
        with pytest.raises(ValueError, match="a path such as"):
            accepts(value)


@resisted("Absolute targets and Host fields that name others: no request leaves for them", 200, 400)
@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://169.254.169.254/latest/meta-data", "a", 200),
        ("https://other.test:8443/v1/completions", "a", 200),
        ("/v1/completions", "169.254.169.254", 200),
        ("/v1/completions", "other.test:1", 200),
        ("//169.254.169.254/latest", "a", 200),
        ("http://user@169.254.169.254/", "a", 400),
        ("ftp://169.254.169.254/", "a", 400),
        ("http:/\\169.254.169.254/", "a", 400),
        ("/v1/completions", "a, 169.254.169.254", 400),
        ("/v1/completions", "a/169.254.169.254", 400),
        ("/v1/completions", "a@169.254.169.254", 400),
    ],
)
async def test_a_target_of_another_host(target: str, host: str, status: int) -> None:
    """The engine of the configuration gets it, with the engine's own Host, or nobody does."""
    async with under_attack() as (gateway, engine):
        head = f"POST {target} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer user\r\n"
        answer = await gateway.ask(f"{head}content-length: 2\r\n\r\n{{}}".encode())
        assert answer.status == status
        assert len(engine.requests) == (status == 200)
        for request in engine.requests:
            assert request.header_values("host") == [f"127.0.0.1:{engine.port}"]
            assert request.target.startswith("/")


@resisted("A key in the URL (`?api_key=`): never accepted, in no log", 401)
@pytest.mark.parametrize(
    "query", ["api_key=user", "api-key=user", "key=user", "access_token=user", "token=user"]
)
async def test_a_key_in_the_url(query: str) -> None:
    async with under_attack() as (gateway, engine):
        answer = await gateway.ask(request_bytes(f"/v1/completions?{query}", b"{}"))
        assert answer.status == 401
        assert engine.requests == []
        good = request_bytes(f"/v1/completions?{query}", b"{}", headers=[USER])
        assert (await gateway.ask(good)).status == 200
        await gateway.until_idle()
        assert gateway.records
        assert all(query not in repr(record) for record in gateway.records)


@resisted("Forged identities: `Connection: authorization`, hop-by-hop names, `x-proa-…`", 200, 401)
async def test_fields_that_would_strip_or_add_identities() -> None:
    """Named in Connection, a field ends here; it was read before, and no engine depends on it."""
    async with under_attack() as (gateway, engine):
        named = [("connection", "authorization, x-request-id, x-forwarded-for, host")]
        stripped = request_bytes("/v1/completions", b"{}", headers=[USER, *named])
        assert (await gateway.ask(stripped)).status == 200
        (request,) = engine.requests
        assert request.header("x-forwarded-for") == "127.0.0.1"
        assert request.header("host") == f"127.0.0.1:{engine.port}"
        assert request.header("x-request-id")
        anonymous = request_bytes("/v1/completions", b"{}", headers=named)
        assert (await gateway.ask(anonymous)).status == 401
        both = [("x-api-key", "admin"), ("authorization", "Bearer wrong")]
        mixed = await gateway.ask(request_bytes("/v1/completions", b"{}", headers=both))
        assert mixed.status == 401
        answer = await gateway.ask(request_bytes("/sleep", b"{}", headers=[ADMIN]))
        assert answer.status == 200


@resisted("Trailers that name headers: dropped", 200, 403)
@pytest.mark.parametrize(
    "trailer",
    [
        "authorization: Bearer admin",
        "content-length: 100",
        "transfer-encoding: chunked",
        "host: other.test",
        "x-api-key: admin",
        "x-forwarded-for: 10.0.0.1",
        "x-proa-priority: interactive",
        "content-type: text/html",
    ],
)
async def test_trailers_that_name_headers(trailer: str) -> None:
    """They neither reach the engine nor change what the head said."""
    async with under_attack() as (gateway, engine):
        head = "POST /sleep HTTP/1.1\r\nhost: a\r\nauthorization: Bearer user\r\n"
        chunks = f"transfer-encoding: chunked\r\n\r\n2;a=b\r\n{{}}\r\n0\r\n{trailer}\r\n\r\n"
        assert (await gateway.ask((head + chunks).encode())).status == 403
        good = head.replace("sleep", "v1/x") + chunks
        assert (await gateway.ask(good.encode())).status == 200
        (request,) = engine.requests
        assert bytes(request.body) == b"{}"
        assert request.trailers == []
        assert trailer.encode() not in request.raw
        await innocent(gateway)
