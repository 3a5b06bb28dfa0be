"""Tenants: what their keys may ask for, how much at one time, and how they share places."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial

import msgspec
import pytest
from tests.gateway.crowd import Crowd, Doors, ask
from tests.gateway.harness import engine_spec, key_spec, serving
from tests.gateway.test_admission_workers import two_workers

from proa.domain.fleet import EngineKind, EngineState, EngineView, FleetView, ModelView
from proa.gateway.settings import TenantSpec
from proa.routing.admission.priority import Priority
from proa.routing.spec import MatchSpec, RouteSpec, RoutingSpec
from proa.telemetry.rows import Header, Key, Tenant
from proa.testing.raw_response import RawResponse, json_request, request_bytes
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import WaitFor

KEYS = (
    key_spec("anna", "a", tenant="sales"),
    key_spec("ben", "b", tenant="sales", max_concurrent_requests=1),
    key_spec("root", "r"),
)
MODELS = ("small", "large", "lora-1", "lora-2")


def fleet(name: str = "main") -> FleetView:
    """One engine with two models and two adapters of the small one."""
    models = tuple(
        ModelView(
            id=model,
            card=msgspec.Raw(msgspec.json.encode({"id": model, "object": "model"})),
            parent="small" if model.startswith("lora") else None,
        )
        for model in MODELS
    )
    engine = EngineView(
        name=name, kind=EngineKind.OPENAI, state=EngineState.READY, models=models, models_known=True
    )
    return FleetView(99, (engine,))


def of(key: str, body: object, path: str = "/v1/chat/completions") -> bytes:
    return json_request(body, path, headers=[("x-api-key", key)])


def code(answer: RawResponse) -> tuple[int, object]:
    body = answer.body.json()
    assert isinstance(body, dict)
    error = body["error"]
    return answer.status, error["code"]


@pytest.mark.parametrize(
    ("tenant", "seen"),
    [
        ({}, MODELS),
        ({"models": ("small",)}, ("small", "lora-1", "lora-2")),
        ({"models": ("large",)}, ("large",)),
        ({"models": ("large", "lora-2")}, ("large", "lora-2")),
        ({"adapters": ("lora-1",)}, ("small", "large", "lora-1")),
        ({"models": ("large",), "adapters": ("lora-2",)}, ("large", "lora-2")),
        ({"models": ("other",)}, ()),
    ],
)
async def test_what_a_tenant_may_not_have_is_not_there(
    tenant: dict[str, tuple[str, ...]], seen: tuple[str, ...]
) -> None:
    tenants = (TenantSpec(name="sales", **tenant),)  # type: ignore[arg-type]
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS, tenants=tenants) as gateway,
    ):
        gateway.plane.apply_fleet(fleet())
        asked = request_bytes("/v1/models", method="GET", headers=[("x-api-key", "a")])
        listed = (await gateway.ask(asked)).body.json()
        assert tuple(each["id"] for each in listed["data"]) == seen  # type: ignore[index]
        for model in (*MODELS, "nonsense"):
            one = request_bytes(f"/v1/models/{model}", method="GET", headers=[("x-api-key", "a")])
            answers = (await gateway.ask(of("a", {"model": model})), await gateway.ask(one))
            if model in seen:
                assert [answer.status for answer in answers] == [200, 200]
            else:
                assert [code(answer) for answer in answers] == [(404, "model_not_found")] * 2
                assert f"The model `{model}` does not exist" in answers[0].body.data.decode()
        assert (await gateway.ask(of("r", {"model": "large"}))).status == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"model": None},
        {"model": 7},
        {"model": "small", "Model": "large"},
        {"model": "small", "\u212aey": 1, "MODEL": "large"},
        {"model": "small", "lora_path": "lora-9"},
        {"model": "small", "lora": [{"id": 0, "scale": 1.0}]},
        {"model": "small", "parameters": {"adapter_id": "lora-9"}},
    ],
)
async def test_no_other_word_of_a_body_leads_to_another_model(body: dict[str, object]) -> None:
    tenants = (TenantSpec(name="sales", models=("small",)),)
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS, tenants=tenants) as gateway,
    ):
        gateway.plane.apply_fleet(fleet())
        assert code(await gateway.ask(of("a", body))) == (404, "model_not_found")
        assert engine.requests == []
        assert gateway.tenant("sales", Tenant.REFUSED_MODEL) == 1


async def test_nothing_that_names_no_model_reaches_an_engine_for_a_tenant_with_models() -> None:
    tenants = (TenantSpec(name="sales", models=("small",)),)
    routing = RoutingSpec(
        routes=(RouteSpec(name="api", match=MatchSpec(path="/api/*"), model="small"),)
    )
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS, tenants=tenants, routing=routing) as gateway,
    ):
        gateway.plane.apply_fleet(fleet())
        for path in ("/api/tags", "/v1/files", "/v1/responses/resp_1"):
            asked = request_bytes(path, method="GET", headers=[("x-api-key", "a")])
            answer = await gateway.ask(asked)
            assert answer.status == 404, path
            assert b"names no model" in answer.body.data
        assert engine.requests == []
        await gateway.ask(of("a", {}, "/api/x"))
        assert msgspec.json.decode(engine.requests[0].body) == {"model": "small"}
        form = (
            b'--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nsmall\r\n'
            b'--x\r\ncontent-disposition: form-data; name="file"\r\n\r\n' + b"0" * 200_000 + b"\r\n"
            b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nlarge\r\n--x\r\n'
            b'content-disposition: form-data; name="pad"\r\n\r\n'
            + b"0" * 200_000
            + b"\r\n--x--\r\n"
        )
        headers = [("x-api-key", "a"), ("content-type", "multipart/form-data; boundary=x")]
        asked = request_bytes("/v1/audio/transcriptions", form, headers=headers)
        assert code(await gateway.ask(asked)) == (404, "model_not_found")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v2/models/small/infer", 200),
        ("/v2/models/large/infer", 404),
        ("/v2//models/large/infer", 404),
        ("/v2/mod%65ls/large/infer", 404),
        ("/v2/models/small/../large/infer", 400),
        ("/v2/models/small/%2e%2e/large/infer", 400),
    ],
)
async def test_the_model_of_a_path_counts_however_it_is_written(path: str, status: int) -> None:
    tenants = (TenantSpec(name="sales", models=("small",)),)
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=KEYS, tenants=tenants) as gateway,
    ):
        gateway.plane.apply_fleet(fleet())
        answer = await gateway.ask(of("a", {"model": "small"}, path))
        assert answer.status == status
        assert len(engine.requests) == (status == 200)


async def test_a_route_of_others_is_forbidden() -> None:
    route = RouteSpec(
        name="dear", match=MatchSpec(path="/dear"), rewrite_path="/v1/chat/completions"
    )
    tenants = (TenantSpec(name="sales", routes=("default",)),)
    async with (
        ScriptedEngine() as engine,
        serving(
            engine, keys=KEYS, tenants=tenants, routing=RoutingSpec(routes=(route,))
        ) as gateway,
    ):
        for _ in range(2):
            answer = await gateway.ask(of("a", {"model": "scripted"}, "/dear"))
            assert code(answer) == (403, "route_not_allowed")
        assert gateway.tenant("sales", Tenant.REFUSED_ROUTE) == 2
        assert (await gateway.ask(of("a", {"model": "scripted"}))).status == 200
        assert (await gateway.ask(of("r", {"model": "scripted"}, "/dear"))).status == 200


async def test_all_keys_of_a_tenant_have_one_cap_over_workers_and_reloads() -> None:
    gate = asyncio.Event()
    tenants = (TenantSpec(name="sales", max_concurrent_requests=2),)
    slow = json_reply({}).preceded_by(WaitFor(gate))
    async with (
        ScriptedEngine([slow, slow]) as engine,
        serving(engine, keys=KEYS, tenants=tenants) as gateway,
    ):
        running = [asyncio.ensure_future(gateway.ask(of(key, {}))) for key in ("a", "b")]
        await engine.wait_running(2)
        gateway.apply(gateway.plane.settings)
        refused = await gateway.ask(of("a", {}))
        assert (refused.status, refused.header("retry-after")) == (429, "1")
        assert b"the tenant of this key may have 2 requests open" in refused.body.data
        assert (await gateway.ask(of("r", {}))).status == 200
        gate.set()
        await asyncio.gather(*running)
        gateway.rows.use(2)
        other = gateway.rows.rows[2]
        cell = gateway.plane.doorkeeper._keys.find({b"x-api-key": b"a"}).tenant.base  # type: ignore[union-attr]
        other[cell] = 2
        gateway.plane.sweep()
        assert (await gateway.ask(of("a", {}))).status == 429
        other[cell] = 0
        assert (await gateway.ask(of("a", {}))).status == 200
        assert gateway.tenant("sales", Tenant.REFUSED_CAP) == 2
        assert gateway.tenant("sales", Tenant.REQUESTS) == 3
        assert gateway.header(Header.REFUSED_KEY_CAP) == 2


async def test_a_place_of_the_tenant_is_given_back_where_the_key_has_none() -> None:
    gate = asyncio.Event()
    tenants = (TenantSpec(name="sales", max_concurrent_requests=2),)
    async with (
        ScriptedEngine([json_reply({}).preceded_by(WaitFor(gate))]) as engine,
        serving(engine, keys=KEYS, tenants=tenants) as gateway,
    ):
        running = asyncio.ensure_future(gateway.ask(of("b", {})))
        await engine.wait_running(1)
        for _ in range(3):
            refused = await gateway.ask(of("b", {}))
            assert b"this key may have 1 requests open" in refused.body.data
        assert gateway.tenant("sales", Tenant.IN_FLIGHT) == 1
        gate.set()
        assert (await running).status == 200


async def test_a_key_works_until_it_expires_and_the_one_before_until_its_grace_ends() -> None:
    plain = key_spec("anna", "new")
    old = key_spec("anna", "old").digest
    keys = (
        msgspec.structs.replace(plain, expires_s=200.0, old_digest=old, old_expires_s=100.0),
        msgspec.structs.replace(key_spec("b", "b"), expires_s=150.0),
    )
    async with (
        ScriptedEngine() as engine,
        serving(engine, keys=keys) as gateway,
        gateway.client() as client,
    ):
        found = []
        for at_s in (99.0, 100.0, 199.0, 200.0):
            gateway.plane.wall_clock = partial(float, at_s)
            gateway.plane.sweep()
            for text in ("old", "new", "b"):
                await client.send(of(text, {}))
                answer = await client.read_response()
                found.append(answer.status)
                if answer.status == 401:
                    assert code(answer) == (401, "expired_api_key")
        assert found == [200, 200, 200, 401, 200, 200, 401, 200, 401, 401, 401, 401]
        assert gateway.key("anna", Key.REQUESTS) == 4  # both are one key
        assert gateway.header(Header.REFUSED_AUTH) == 6


@pytest.mark.parametrize(
    ("ceiling", "asked", "waits_in"),
    [
        (None, "interactive", [0, 1, 0, 0]),
        (Priority.DEFAULT, "interactive", [0, 0, 1, 0]),
        (Priority.BULK, None, [0, 0, 0, 1]),
        (Priority.INTERACTIVE, "bulk", [0, 0, 0, 1]),
    ],
)
async def test_no_request_is_above_the_class_of_its_tenant(
    ceiling: Priority | None, asked: str | None, waits_in: list[int]
) -> None:
    keys = (key_spec("anna", "a", tenant="sales", priority=Priority.SYSTEM),)
    tenants = (TenantSpec(name="sales", priority=ceiling),)
    doors = Doors()
    async with ScriptedEngine(doors) as engine:
        spec = engine_spec(engine, "main", max_concurrent_requests=1)
        async with serving(spec, keys=keys, tenants=tenants) as gateway, AsyncExitStack() as stack:
            crowd = Crowd(gateway, stack)
            headers = [("x-api-key", "a")]
            await crowd.send("run", ask("run", *headers))
            wish = [("x-proa-priority", asked)] if asked else []
            await crowd.send("waits", ask("waits", *headers, *wish))
            assert [gateway.header(Header.QUEUED + rank) for rank in range(4)] == waits_in
            assert gateway.tenant("sales", Tenant.WAITING) == 1
            doors.open("run", "waits")
            assert (await crowd.answer("waits")).status == 200


async def test_two_workers_share_places_by_weight() -> None:
    """One worker has a flood of one tenant, the other the few of two: all by 1 : 1 : 2."""
    doors = Doors()
    keys = tuple(key_spec(name, name, tenant=name) for name in ("flood", "few", "two"))
    tenants = (TenantSpec(name="flood"), TenantSpec(name="few"), TenantSpec(name="two", weight=2.0))
    async with (
        ScriptedEngine(doors) as engine,
        two_workers(engine, cap=1) as gateways,
        AsyncExitStack() as stack,
    ):
        settings = msgspec.structs.replace(gateways[0].plane.settings, keys=keys, tenants=tenants)
        for gateway in gateways:
            gateway.apply(settings)
            gateway.see()
        crowds = [Crowd(gateway, stack) for gateway in gateways]

        async def send(worker: int, name: str) -> None:
            tenant = name.split("-", maxsplit=1)[0]
            await crowds[worker].send(name, ask(name, ("x-api-key", tenant)))

        await send(0, "flood-run")
        for number in range(12):
            await send(0, f"flood-{number}")
        for number in range(4):
            await send(1, f"few-{number}")
        for number in range(8):
            await send(1, f"two-{number}")
        names = ["flood-run", *(f"flood-{n}" for n in range(12))]
        names += [*(f"few-{n}" for n in range(4)), *(f"two-{n}" for n in range(8))]
        doors.open(*names)
        for name in names:
            worker = 0 if name.startswith("flood") else 1
            assert (await crowds[worker].answer(name)).status == 200
        first = Counter(name.split("-")[0] for name in doors.order[1:17])
        assert first["few"] in range(3, 6), doors.order
        assert first["two"] in range(7, 10), doors.order
        assert first["flood"] in range(3, 6), doors.order
