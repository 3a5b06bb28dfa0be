"""The client's close ends the engine's work at once, whatever the exchange was doing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.gateway.harness import Gateway, descriptors, serving

from proa.domain.outcome import Outcome
from proa.gateway.settings import LimitsSettings
from proa.routing.spec import RouteSpec, RoutingSpec
from proa.telemetry.rows import Engine, Header
from proa.testing.ports import hanging_port
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request, request_bytes
from proa.testing.replies import body_reply, json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Send, Stall

ASK = json_request({"model": "scripted", "messages": []})
STREAM = json_request({"model": "scripted", "messages": [], "stream": True})
EVENT = {"choices": [{"index": 0, "delta": {"content": "word"}}]}
SILENCE = Reply((Stall(),))
LEAVES = {
    "half-close": RawClient.half_close,
    "close": RawClient.close,
    "reset": RawClient.reset,
}


@dataclass(frozen=True)
class State:
    """`sent` and the engine's `reply` bring an exchange to where `reached` holds."""

    sent: bytes
    reached: Callable[[Gateway, ScriptedEngine], bool]
    reply: Reply = SILENCE


def _running(gateway: Gateway, engine: ScriptedEngine) -> bool:
    return engine.running == 1


def _streaming(gateway: Gateway, engine: ScriptedEngine) -> bool:
    return gateway.histogram("main", Engine.TTFT_BUCKET) == 1


def _uploading(gateway: Gateway, engine: ScriptedEngine) -> bool:
    return gateway.header(Header.BODY_BYTES) >= 9


def _paused(gateway: Gateway, engine: ScriptedEngine) -> bool:
    exchanges = [connection.exchange for connection in gateway.plane.connections]
    return any(x is not None and x.attempt is not None and x.attempt.paused for x in exchanges)


def _partial_head(gateway: Gateway, engine: ScriptedEngine) -> bool:
    return any(connection._pending for connection in gateway.plane.connections)


HEAD_OF_100 = b"POST /v1/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n"
CHUNKED_HEAD = b"POST /v1/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
FLOOD = body_reply([Send(b"x" * 65_536, times=1024)], content_type="application/octet-stream")
EVENT_FLOOD = sse_reply([EVENT, Send(b"data: " + b"x" * 65_528 + b"\n\n", times=1024)])
STATES = {
    "in the head": State(b"POST /v1/completions HTTP/1.1\r\nhost:", _partial_head),
    "in a counted body": State(HEAD_OF_100 + b'{"model":', _uploading),
    "in a chunked body": State(CHUNKED_HEAD + b'9\r\n{"model":\r\n', _uploading),
    "waiting for the first byte": State(ASK, _running),
    "waiting for the first event": State(STREAM, _running),
    "head of the answer sent": State(ASK, _running, body_reply([Send(b"{"), Stall(), Send(b"}")])),
    "streaming": State(STREAM, _streaming, sse_reply([EVENT, EVENT, Stall()])),
    "paused answer": State(ASK, _paused, FLOOD),
    "paused stream": State(STREAM, _paused, EVENT_FLOOD),
    "a second request waits": State(ASK + ASK, _running),
}


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("name", STATES)
async def test_a_client_that_leaves_is_seen_in_every_state(name: str, leave: str) -> None:
    """G2, G5, G7: BerriAI/litellm/issues/37140 and 9178, maximhq/bifrost/issues/3164."""
    state = STATES[name]
    async with ScriptedEngine(lambda _: state.reply) as engine, serving(engine) as gateway:
        before = descriptors()
        async with gateway.client() as client:
            await client.send(state.sent)
            await gateway.until(lambda: state.reached(gateway, engine), name)
            LEAVES[leave](client)
            await gateway.until_clear()
            await engine.wait_running(0, timeout_s=1.0)
            await engine.wait_connections(0, timeout_s=1.0)
        assert engine.aborted == len(engine.requests) <= 1
        assert [record.outcome for record in gateway.records] in ([], ["cancelled"])
        await gateway.until(lambda: not descriptors() - before, "closed descriptors")


@pytest.mark.parametrize("leave", LEAVES)
async def test_a_client_that_leaves_while_we_connect(leave: str) -> None:
    with hanging_port() as port:
        async with serving(f"http://127.0.0.1:{port}") as gateway:
            before = descriptors()
            async with gateway.client() as client:
                await client.send(ASK)
                await gateway.until(lambda: gateway.in_flight("main") == 1)
                LEAVES[leave](client)
                await gateway.until_clear()
            await gateway.until(lambda: not descriptors() - before, "closed descriptors")
            assert gateway.engine("main", Engine.OUTCOME + Outcome.CANCELLED) == 1


@pytest.mark.parametrize("leave", LEAVES)
async def test_a_client_that_leaves_before_the_engine_accepts(leave: str) -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        engine.accepting.clear()
        async with gateway.client() as client:
            await client.send(ASK)
            await gateway.until(lambda: engine.connections == 1)
            LEAVES[leave](client)
            await gateway.until_clear()
        engine.accepting.set()
        await engine.wait_connections(0, timeout_s=1.0)


@pytest.mark.parametrize("leave", LEAVES)
async def test_a_client_that_leaves_in_the_second_try(leave: str) -> None:
    """Between tries nothing is held: the first engine's lease has ended, the second's begins."""
    busy = json_reply({"error": {"message": "full"}}, status=503)
    routing = RoutingSpec(routes=(RouteSpec(name="all", prefer=("main",), overflow=("aux",)),))
    with hanging_port() as port:
        async with (
            ScriptedEngine(lambda _: busy) as engine,
            serving(engine, f"http://127.0.0.1:{port}", routing=routing) as gateway,
            gateway.client() as client,
        ):
            await client.send(ASK)
            await gateway.until(lambda: gateway.in_flight("aux") == 1)
            assert gateway.in_flight("main") == 0
            LEAVES[leave](client)
            await gateway.until_clear()
            assert gateway.engine("main", Engine.OUTCOME + Outcome.BUSY) == 1
            assert gateway.engine("aux", Engine.OUTCOME + Outcome.CANCELLED) == 1


@pytest.mark.parametrize("leave", LEAVES)
async def test_a_client_that_leaves_with_reading_paused_is_seen_by_the_sweep(leave: str) -> None:
    """uvloop reports neither FIN nor RST of a paused transport; the sweep looks at the socket."""
    async with (
        ScriptedEngine(lambda _: SILENCE) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        await client.send(ASK + request_bytes("/v1/completions", b"x" * 200_000))
        await gateway.until(lambda: any(c._paused_reading for c in gateway.plane.connections))
        gateway.advance(0.25)
        assert gateway.in_flight("main") == 1
        LEAVES[leave](client)
        await gateway.until_swept(lambda: not gateway.plane.connections)
        await gateway.until_clear()
        await engine.wait_running(0, timeout_s=1.0)


@pytest.mark.parametrize("leave", LEAVES)
async def test_a_client_that_leaves_while_its_body_waits_for_budget(leave: str) -> None:
    limits = LimitsSettings(body_budget_bytes=1000)
    async with ScriptedEngine() as engine, serving(engine, limits=limits) as gateway:
        async with gateway.client() as client:
            await client.send(request_bytes("/v1/completions", b"x" * 200_000)[:100_000])
            await gateway.until(lambda: any(c._paused_reading for c in gateway.plane.connections))
            LEAVES[leave](client)
            await gateway.until_swept(lambda: not gateway.plane.connections)
            await gateway.until_clear()
        assert engine.requests == []


async def test_a_client_that_retries_has_one_live_call_at_a_time() -> None:
    """G2: https://github.com/BerriAI/litellm/issues/37140"""
    async with ScriptedEngine(lambda _: SILENCE) as engine, serving(engine) as gateway:
        for tries in range(1, 7):
            async with gateway.client() as client:
                await client.send(ASK)
                await engine.wait_requests(tries)
        await engine.wait_aborted(6, timeout_s=1.0)
        assert engine.peak_running == 1


async def test_streams_that_are_closed_stop_at_the_engine() -> None:
    """G5: https://github.com/maximhq/bifrost/issues/3164"""
    reply = sse_reply([EVENT, Stall()])

    async def stream(gateway: Gateway, engine: ScriptedEngine) -> None:
        async with gateway.client() as client:
            await client.send(STREAM)
            assert (await client.read_head()).status == 200
            await engine.wait_requests(8)

    async with ScriptedEngine(lambda _: reply) as engine, serving(engine) as gateway:
        await asyncio.gather(*(stream(gateway, engine) for _ in range(8)))
        await engine.wait_running(0, timeout_s=1.0)
        assert engine.aborted == 8


async def test_a_slow_call_holds_up_no_other_and_is_cancelled() -> None:
    """G6: https://github.com/1rgs/claude-code-proxy/pull/114"""
    async with ScriptedEngine(lambda _: SILENCE) as engine, serving(engine) as gateway:
        async with gateway.client() as slow:
            await slow.send(ASK)
            await engine.wait_running(1)
            async with asyncio.timeout(0.05):
                health = await gateway.ask(request_bytes("/healthz", method="GET"))
            assert health.status == 200
        await engine.wait_aborted(1, timeout_s=1.0)


async def test_cancelled_calls_leave_no_upstream_sockets() -> None:
    """G7: https://github.com/BerriAI/litellm/issues/9178"""
    replies = [SILENCE] * 200

    async def give_up(gateway: Gateway, engine: ScriptedEngine) -> None:
        async with gateway.client() as client:
            await client.send(ASK)
            await engine.wait_requests(200)

    async with ScriptedEngine(replies) as engine, serving(engine) as gateway:
        before = descriptors()
        await asyncio.gather(*(give_up(gateway, engine) for _ in range(200)))
        async with asyncio.timeout(1.0):
            assert (await gateway.ask(ASK)).status == 200
        await engine.wait_connections(1, timeout_s=1.0)
        gateway.advance(60.0)  # the pool's connection is idle for too long
        await engine.wait_connections(0, timeout_s=1.0)
        await gateway.until(lambda: not descriptors() - before, "closed descriptors")
