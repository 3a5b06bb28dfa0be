"""Engines that say nothing: who waits how long, and what it means (G41, G50, G54)."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.gateway.apis import ANTHROPIC, CHAT, OLLAMA, RESPONSES, StreamingApi
from tests.gateway.harness import serving
from tests.gateway.routes import MAIN_FIRST

from proa.gateway.settings import LimitsSettings
from proa.telemetry.rows import Engine
from proa.testing.raw_response import json_request
from proa.testing.replies import body_reply, json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Reset, Stall, WaitFor

ASK = json_request({"model": "scripted", "messages": []})
SILENT = Reply((Stall(),))
BEAT = b": waiting for the engine\n\n"


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


async def test_a_silent_stream_is_given_up_after_the_first_byte_time() -> None:
    async with always(SILENT) as engine, serving(engine) as gateway:
        ask = asyncio.ensure_future(gateway.ask(CHAT.request))
        await engine.wait_running(1)
        gateway.advance(299.0)
        assert gateway.in_flight("main") == 1
        gateway.advance(1.5)
        answer = await ask
        assert answer.status == 504
        assert b"no answer in time" in answer.body.data
        await engine.wait_aborted(1)
        assert gateway.records[0].outcome == "broken"


async def test_a_long_prompt_has_more_time() -> None:
    prompt = {"model": "scripted", "stream": True, "messages": ["x" * 100_000]}
    async with always(SILENT) as engine, serving(engine) as gateway:
        ask = asyncio.ensure_future(gateway.ask(json_request(prompt)))
        await engine.wait_running(1)
        gateway.advance(390.0)
        assert gateway.in_flight("main") == 1
        gateway.advance(20.0)
        assert (await ask).status == 504


async def test_an_answer_that_is_no_stream_has_the_total_time_only() -> None:
    async with always(SILENT) as engine, serving(engine) as gateway:
        ask = asyncio.ensure_future(gateway.ask(ASK))
        await engine.wait_running(1)
        gateway.advance(1799.0)
        assert gateway.in_flight("main") == 1
        gateway.advance(1.5)
        assert (await ask).status == 504


async def test_the_total_time_ends_a_lively_stream_too() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    parts = [part for gate in gates for part in (CHAT.content[0], WaitFor(gate))]
    limits = LimitsSettings(total_timeout_s=100.0)
    async with (
        always(CHAT.reply(*parts)) as engine,
        serving(engine, limits=limits) as gateway,
        gateway.client() as client,
    ):
        await client.send(CHAT.request)
        await client.read_until(CHAT.content[0])
        for gate in gates[:2]:
            gateway.advance(45.0)
            gate.set()
            await client.read_until(CHAT.content[0])
        gateway.advance(11.0)
        assert b"no answer in time" in await client.read_until_end()


async def test_silence_while_other_streams_of_the_engine_move_is_busy() -> None:
    gates = [asyncio.Event() for _ in range(7)]
    lively = CHAT.reply(*(part for gate in gates for part in (CHAT.content[0], WaitFor(gate))))
    limits = LimitsSettings(first_byte_timeout_s=10.0)
    engine = ScriptedEngine([SILENT, lively])
    async with engine, serving(engine, limits=limits) as gateway, gateway.client() as client:
        ask = asyncio.ensure_future(gateway.ask(CHAT.request))
        await engine.wait_running(1)
        await client.send(CHAT.request)
        for gate in gates:
            await client.read_until(CHAT.content[0])
            gateway.advance(1.5)
            gate.set()
        answer = await ask
        assert answer.status == 504
        assert [record.outcome for record in gateway.records][:1] == ["busy"]
        assert gateway.engine("main", Engine.BREAKER) == 0


async def test_g50_a_hung_engine_hurts_nobody_else_and_is_ejected() -> None:
    limits = LimitsSettings(first_byte_timeout_s=10.0)
    async with (
        always(SILENT) as hung,
        ScriptedEngine() as good,
        serving(hung, good, routing=MAIN_FIRST, limits=limits) as gateway,
    ):
        waiting = [asyncio.ensure_future(gateway.ask(CHAT.request)) for _ in range(3)]
        await hung.wait_running(3)
        models: dict[str, Sequence[str]] = {"main": (), "aux": ("scripted",)}
        gateway.see(models=models)
        assert (await gateway.ask(ASK)).header("x-proa-engine") == "aux"
        gateway.see()
        gateway.advance(10.5)
        answers = await asyncio.gather(*waiting)
        assert {answer.header("x-proa-engine") for answer in answers} == {"aux"}
        assert gateway.engine("main", Engine.BREAKER) == 2
        assert (await gateway.ask(ASK)).header("x-proa-engine") == "aux"


async def test_a_timeout_goes_to_another_engine_once() -> None:
    limits = LimitsSettings(first_byte_timeout_s=10.0)
    async with (
        always(SILENT) as one,
        always(SILENT) as two,
        always(SILENT) as three,
        serving(one, two, three, limits=limits) as gateway,
    ):
        ask = asyncio.ensure_future(gateway.ask(CHAT.request))
        await gateway.until(lambda: one.running + two.running + three.running == 1)
        gateway.advance(10.5)
        await gateway.until(lambda: one.aborted + two.aborted + three.aborted == 1)
        await gateway.until(lambda: one.running + two.running + three.running == 1)
        gateway.advance(10.5)
        assert (await ask).status in (502, 504)
        assert len(one.requests) + len(two.requests) + len(three.requests) == 2


# heartbeats


async def test_g41_no_heartbeat_by_default() -> None:
    async with always(SILENT) as engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        await engine.wait_running(1)
        gateway.advance(90.0)
        gateway.advance(90.0)
        await engine.stop()
        assert (await client.read_response()).status == 502  # still a real status
        assert BEAT not in b"".join(client.reads)


@pytest.mark.parametrize(
    "api", [CHAT, ANTHROPIC, RESPONSES], ids=["chat", "anthropic", "responses"]
)
async def test_g41_heartbeats_while_nothing_comes(api: StreamingApi) -> None:
    go_on = asyncio.Event()
    engine = always(api.reply().preceded_by(WaitFor(go_on)))
    async with engine, serving(engine, heartbeat_s=15.0) as gateway, gateway.client() as client:
        await client.send(api.request)
        await engine.wait_running(1)
        gateway.advance(14.9)
        assert not client.reads
        gateway.advance(0.2)
        head = await client.read_head()
        assert (head.status, head.header("content-type")) == (200, "text/event-stream")
        assert await client.read_chunk() == BEAT
        for _ in range(5):
            gateway.advance(15.0)
            assert await client.read_chunk() == BEAT
        go_on.set()
        got = b""
        while chunk := await client.read_chunk():
            got += chunk
        assert got == api.whole
        gateway.advance(15.0)
        await gateway.until_idle()
        assert gateway.records[0].outcome == "ok"


async def test_g41_no_heartbeat_between_events() -> None:
    go_on = asyncio.Event()
    engine = always(CHAT.reply(CHAT.content[0], WaitFor(go_on), *CHAT.ending))
    async with engine, serving(engine, heartbeat_s=5.0) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        await client.read_until(CHAT.content[0])
        gateway.advance(20.0)
        go_on.set()
        await client.read_until(b"0\r\n\r\n")
        assert BEAT not in b"".join(client.reads)


async def test_g41_no_heartbeat_for_what_is_no_event_stream() -> None:
    for request in (ASK, OLLAMA.request):
        engine = always(SILENT)
        async with engine, serving(engine, heartbeat_s=5.0) as gateway, gateway.client() as client:
            await client.send(request)
            await engine.wait_running(1)
            gateway.advance(20.0)
            await engine.stop()
            assert (await client.read_response()).status == 502


async def test_g41_no_heartbeat_in_a_json_answer_to_a_stream() -> None:
    go_on = asyncio.Event()
    engine = always(body_reply([b'{"choices":', WaitFor(go_on), b"[]}"]))
    async with engine, serving(engine, heartbeat_s=5.0) as gateway, gateway.client() as client:
        await client.send(CHAT.request)
        await client.read_until(b'"choices":')
        gateway.advance(20.0)
        go_on.set()
        await gateway.until_idle()
        await client.read_until(b"[]}")
        assert BEAT not in b"".join(client.reads)


@pytest.mark.parametrize(
    "reply",
    [
        Reply((Reset(),)),
        json_reply({"error": {"message": "crash", "code": 500}}, status=500),
        json_reply({"error": {"message": "full", "code": 503}}, status=503),
        json_reply({"error": {"message": "bad", "code": 400}}, status=400),
        CHAT.reply(CHAT.overload, CHAT.ending[-1]),
        CHAT.reply(*CHAT.preamble, CHAT.ending[-1]),
        json_reply({"choices": []}),
    ],
    ids=["reset", "500", "503", "400", "overload", "done only", "json"],
)
async def test_g41_after_a_heartbeat_a_failure_is_an_error_event(reply: Reply) -> None:
    go_on = asyncio.Event()
    main, aux = always(reply.preceded_by(WaitFor(go_on))), ScriptedEngine()
    async with (
        main,
        aux,
        serving(main, aux, routing=MAIN_FIRST, heartbeat_s=5.0) as gateway,
        gateway.client() as client,
    ):
        await client.send(CHAT.request)
        await main.wait_running(1)
        gateway.advance(5.1)
        await client.read_until(BEAT + b"\r\n")
        go_on.set()
        event = await client.read_chunk()
        assert CHAT.error_message(event)
        assert await client.end() == "FIN"
        assert not aux.requests
