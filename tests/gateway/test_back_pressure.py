"""A slow side slows the other down; what the gateway holds for it stays small."""

import asyncio
import random
import socket
from contextlib import AsyncExitStack

import pytest
from tests.gateway.apis import CHAT
from tests.gateway.harness import Gateway, serving

from proa.gateway.connection import HIGH_WATER_BYTES
from proa.gateway.settings import LimitsSettings
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import Framing, body_reply, event_bytes, json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import PauseReading, Reply, ResumeReading, Send, WaitFor

MIB = 1_048_576
EVENT = event_bytes({"choices": [{"index": 0, "delta": {"content": "x" * 4000}}]})
READ_BYTES = 256 * 1024  # the largest read of the loop: one may come after the mark


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


def held_bytes(gateway: Gateway) -> int:
    """What the gateway keeps for its clients to read."""
    return sum(c.transport.get_write_buffer_size() for c in gateway.plane.connections)


async def until_still(engine: ScriptedEngine, gateway: Gateway) -> int:
    """Turn the loop until nothing moves any more; the bytes that the engine got rid of."""
    before, quiet = -1, 0
    while quiet < 200:
        await asyncio.sleep(0)
        quiet = quiet + 1 if engine.bytes_sent == before else 0
        before = engine.bytes_sent
        assert held_bytes(gateway) <= HIGH_WATER_BYTES + READ_BYTES
    return before


def small_buffers(client: RawClient) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 262_144)


@pytest.mark.parametrize("kind", ["stream", "chunked", "counted"])
async def test_an_engine_waits_for_a_client_that_does_not_read(kind: str) -> None:
    size = 64 * MIB
    if kind == "stream":
        reply = CHAT.reply(Send(EVENT, times=size // len(EVENT)), *CHAT.ending)
    else:
        framing = Framing.CHUNKED if kind == "chunked" else Framing.COUNTED
        reply = body_reply([Send(b"x" * 65_536, times=size // 65_536)], framing=framing)
    engine = always(reply)
    async with engine, serving(engine) as gateway, gateway.client() as client:
        small_buffers(client)
        await client.send(CHAT.request)
        await engine.wait_running(1)
        sent = await until_still(engine, gateway)
        assert 0 < sent < size // 3
        assert engine.running == 1
        answer = await client.read_response()
        assert answer.body.complete
        assert len(answer.body.data) >= size - len(EVENT)
        await engine.wait_finished(1)


async def test_a_client_that_reads_on_now_and_then_gets_everything_in_order() -> None:
    rng = random.Random(3)
    body = rng.randbytes(8 * MIB)
    engine = always(body_reply([body], framing=Framing.CHUNKED))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        small_buffers(client)
        await client.send(json_request({"model": "scripted"}))
        await client.read_head()
        got = []
        while data := await client.read_chunk():
            got.append(data)
            if rng.random() < 0.1:
                await until_still(engine, gateway)
        assert b"".join(got) == body


async def test_a_slow_client_is_not_taken_for_a_stalled_engine() -> None:
    engine = always(CHAT.reply(Send(EVENT, times=32 * MIB // len(EVENT)), *CHAT.ending))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        small_buffers(client)
        await client.send(CHAT.request)
        await engine.wait_running(1)
        await until_still(engine, gateway)
        for _ in range(4):
            gateway.advance(50.0)
            await client.read_exactly(4 * MIB)
            await until_still(engine, gateway)
        last = b""
        while b"[DONE]" not in last:
            last = last[-6:] + await client.read_some()


async def test_a_client_that_never_reads_is_dropped_after_the_stall_time() -> None:
    engine = always(CHAT.reply(Send(EVENT, times=16_384), *CHAT.ending))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        small_buffers(client)
        await client.send(CHAT.request)
        await engine.wait_running(1)
        await until_still(engine, gateway)
        gateway.advance(0.25)
        gateway.advance(61.0)
        await engine.wait_aborted(1)
        await gateway.until_clear()
        assert gateway.records[0].outcome == "cancelled"


async def test_pipelined_requests_of_a_client_that_does_not_read_wait() -> None:
    """Each answer is large; without back-pressure over exchanges they would pile up."""
    size, count = 200_000, 400
    engine = always(json_reply({"text": "x" * size}))
    async with engine, serving(engine) as gateway, gateway.client() as client:
        small_buffers(client)
        await client.send(json_request({"model": "scripted"}) * count)
        await engine.wait_requests(1)
        await until_still(engine, gateway)
        assert len(engine.requests) < count // 2
        for _ in range(count):
            answer = await client.read_response()
            assert len(answer.body.data) == size + 11
            assert answer.body.complete
        assert len(engine.requests) == count


async def test_a_large_upload_to_an_engine_that_reads_slowly() -> None:
    go_on, all_read = asyncio.Event(), asyncio.Event()
    body = random.Random(1).randbytes(48 * MIB)
    slow = (PauseReading(), WaitFor(go_on), ResumeReading(), WaitFor(all_read))
    engine = ScriptedEngine([json_reply({}).preceded_by(*slow)], answer_at_head=True)
    async with engine, serving(engine) as gateway, gateway.client() as client:
        await client.send(request_bytes("/any", body))
        await engine.wait_running(1)
        assert (await gateway.ask(request_bytes("/other", b"{}"))).status == 200
        go_on.set()
        await engine.wait_until(lambda: engine.requests[0].complete, "whole body")
        assert bytes(engine.requests[0].body) == body
        all_read.set()
        assert (await client.read_response()).status == 200


async def test_uploads_above_the_workers_budget_wait_and_are_then_refused() -> None:
    limits = LimitsSettings(body_budget_bytes=MIB)
    *most, last = request_bytes("/any", b"x" * MIB).partition(b"x" * (MIB - 1))
    clients = AsyncExitStack()
    async with ScriptedEngine() as engine, serving(engine, limits=limits) as gateway, clients:
        both = [await clients.enter_async_context(gateway.client()) for _ in range(2)]
        for client in both:
            await client.send(b"".join(most))
        await gateway.until(lambda: gateway.gauges()["body bytes"] > MIB)
        gateway.advance(1.0)
        assert not gateway.records
        gateway.advance(10.0)
        assert [record.status for record in gateway.records] == [503]
        for client in both:
            await client.send(last)
        answers = [await client.read_response() for client in both]
        assert sorted(answer.status for answer in answers) == [200, 503]
        assert len(engine.requests) == 1


async def test_the_budget_is_given_back() -> None:
    """Bodies that come in several reads: their sum over time is no limit."""
    limits = LimitsSettings(body_budget_bytes=3 * MIB)
    async with ScriptedEngine() as engine, serving(engine, limits=limits) as gateway:
        for _ in range(5):
            answer = await gateway.ask(request_bytes("/any", b"x" * 2 * MIB))
            assert answer.status == 200
            assert gateway.gauges()["body bytes"] == 0
