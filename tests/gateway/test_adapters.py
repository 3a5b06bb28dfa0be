"""LoRA adapters on demand: loaded once before the requests for them, unloaded for room."""

import asyncio
import json

import msgspec
from tests.gateway.harness import Gateway, engine_spec, serving

from proa.domain.fleet import (
    AdapterView,
    EngineKind,
    EngineSpec,
    EngineState,
    EngineView,
    FleetView,
    ModelView,
)
from proa.engines.lora import AdapterCall
from proa.routing.spec import AdapterSpec, PolicyName, PolicyOptions, RoutingSpec
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine, default_reply
from proa.testing.steps import Reply

NAMES = ("law", "med", "tax")
ROUTING = RoutingSpec(
    policy=PolicyName.LORA,
    policy_options=PolicyOptions(adapters_per_engine=2),
    adapters=tuple(AdapterSpec(name=n, model="scripted", path=f"/a/{n}") for n in NAMES),
)


def vllm(status: int = 200) -> ScriptedEngine:
    """An engine that answers calls for adapters with `status`."""

    def reply(request: ReceivedRequest) -> Reply:
        if "lora_adapter" in request.path:
            return json_reply({"message": "told"}, status=status)
        return default_reply(request)

    return ScriptedEngine(reply)


def see(gateway: Gateway, *adapters: str) -> None:
    """All engines have the base model and these adapters."""
    names = ("scripted", *adapters)
    models = tuple(ModelView(name, msgspec.Raw(b"{}")) for name in names)
    views = tuple(AdapterView(name, "scripted") for name in adapters)
    engines = tuple(
        EngineView(
            name=spec.name, kind=EngineKind.VLLM, state=EngineState.READY,
            models=models, models_known=True, adapters=views,
        )
        for spec in gateway.plane.settings.engines
    )  # fmt: skip
    gateway.plane.apply_fleet(FleetView(gateway.plane.fleet.sequence + 1, engines))


def paths(engine: ScriptedEngine) -> list[str]:
    return [request.path for request in engine.requests]


async def ask(gateway: Gateway, model: str) -> RawResponse:
    return await gateway.ask(json_request({"model": model, "messages": []}))


async def test_an_adapter_is_loaded_before_its_first_request_and_then_is_there() -> None:
    async with vllm() as engine, serving(engine, routing=ROUTING) as gateway:
        see(gateway)
        for _ in range(3):
            assert (await ask(gateway, "law")).status == 200
        assert paths(engine) == ["/v1/load_lora_adapter", *["/v1/chat/completions"] * 3]
        assert json.loads(bytes(engine.requests[0].body)) == {
            "lora_name": "law", "lora_path": "/a/law",
        }  # fmt: skip
        assert (await ask(gateway, "scripted")).status == 200
        assert (await ask(gateway, "unheard")).status == 404


async def test_requests_at_the_same_time_wait_for_one_load() -> None:
    async with vllm() as engine, serving(engine, routing=ROUTING) as gateway:
        see(gateway)
        answers = await asyncio.gather(*(ask(gateway, "law") for _ in range(5)))
        assert {answer.status for answer in answers} == {200}
        assert paths(engine).count("/v1/load_lora_adapter") == 1


async def test_a_view_from_before_the_load_loses_nobody_who_waits() -> None:
    async with vllm() as engine, serving(engine, routing=ROUTING) as gateway:
        see(gateway)
        loader, loaded = gateway.plane.loader, asyncio.Event()
        real = loader._call

        async def call(spec: EngineSpec, asked: AdapterCall) -> tuple[int, bytes]:
            await loaded.wait()
            return await real(spec, asked)

        loader._call = call
        first = asyncio.create_task(ask(gateway, "law"))
        await gateway.until(lambda: any(loader._waiting.values()), "a wait")
        see(gateway)
        second = asyncio.create_task(ask(gateway, "law"))
        await gateway.until(lambda: sum(map(len, loader._waiting.values())) == 2, "two waits")
        loaded.set()
        assert {(await first).status, (await second).status} == {200}


async def test_the_least_used_makes_room() -> None:
    async with vllm() as engine, serving(engine, routing=ROUTING) as gateway:
        see(gateway)
        for model in ("law", "law", "med", "tax"):
            assert (await ask(gateway, model)).status == 200
        calls = [
            (r.path.removeprefix("/v1/"), json.loads(bytes(r.body))["lora_name"])
            for r in engine.requests
            if "lora" in r.path
        ]
        assert calls == [
            ("load_lora_adapter", "law"), ("load_lora_adapter", "med"),
            ("unload_lora_adapter", "med"), ("load_lora_adapter", "tax"),
        ]  # fmt: skip


async def test_what_an_engine_has_already_is_not_loaded() -> None:
    async with vllm() as engine, serving(engine, routing=ROUTING) as gateway:
        see(gateway, "law")
        assert (await ask(gateway, "law")).status == 200
        assert paths(engine) == ["/v1/chat/completions"]


async def test_an_engine_that_cannot_load_leaves_it_to_another() -> None:
    async with vllm(500) as main, vllm() as aux, serving(main, aux, routing=ROUTING) as gateway:
        see(gateway)
        assert (await ask(gateway, "law")).header("x-proa-engine") == "aux"
        assert "/v1/chat/completions" not in paths(main)
    async with vllm(500) as main, serving(main, routing=ROUTING) as gateway:
        see(gateway)
        answer = await ask(gateway, "law")
        assert answer.status == 503
        assert b"engine main did not load the adapter law: status 500" in answer.body.data


async def test_a_client_that_leaves_while_it_waits_reaches_no_engine() -> None:
    gone = engine_spec("http://127.0.0.1:1", "main")
    async with serving(gone, routing=ROUTING) as gateway:
        see(gateway)
        loaded = asyncio.Event()

        async def call(spec: EngineSpec, asked: AdapterCall) -> tuple[int, bytes]:
            await loaded.wait()
            return 200, b""

        gateway.plane.loader._call = call
        async with gateway.client() as client:
            await client.send(json_request({"model": "law", "messages": []}))
            await gateway.until(lambda: bool(gateway.plane.loader._waiting), "a wait")
        await gateway.until_clear()
        loaded.set()
        await gateway.until(lambda: not gateway.plane.loader._waiting, "an end of the wait")
        assert [record.status for record in gateway.records] == [499]
