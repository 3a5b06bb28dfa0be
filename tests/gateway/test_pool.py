"""Connections to engines are reused, and one that died meanwhile is never the client's trouble."""

import asyncio

import msgspec
import pytest
from tests.gateway.apis import CHAT
from tests.gateway.harness import engine_spec, serving
from tests.gateway.routes import MAIN_FIRST

from proa.testing.chat import chat_completion
from proa.testing.raw_response import json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine, default_reply
from proa.testing.steps import Close, Reply, Reset, Send, WaitFor

ASK = json_request({"model": "scripted", "messages": []})


def always(reply: Reply) -> ScriptedEngine:
    return ScriptedEngine(lambda _: reply)


async def test_a_connection_is_reused() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        for request in (ASK, CHAT.request) * 5:
            assert (await gateway.ask(request)).status == 200
        assert engine.connections_made == 1


async def test_g61_requests_5_2_s_apart_1000_times() -> None:
    """The engine keeps idle connections for 5 s; ours are given up after 4."""
    async with ScriptedEngine() as engine, serving(engine) as gateway, gateway.client() as client:
        for _ in range(1000):
            await client.send(ASK)
            assert (await client.read_response()).status == 200
            gateway.advance(5.2)
            assert not gateway.plane.dispatcher.links[0].idle
        assert engine.connections_made == 1000


async def test_g61_an_idle_connection_within_the_time_is_used() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        for _ in range(20):
            assert (await gateway.ask(ASK)).status == 200
            gateway.advance(3.9)
        assert engine.connections_made == 1


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("end", [Close(), Reset()], ids=["FIN", "RST"])
async def test_g62_an_engine_that_closes_after_each_reply_1000_times(
    end: Close | Reset, told: bool
) -> None:
    headers = (("connection", "close"),) if told else ()
    reply = json_reply(chat_completion(), headers=headers).followed_by(end)
    async with always(reply) as engine, serving(engine) as gateway, gateway.client() as client:
        for _ in range(1000):
            await client.send(ASK)
            answer = await client.read_response()
            assert (answer.status, answer.body.complete) == (200, True)
            assert answer.header("connection") is None
        assert not engine.violations
        assert {record.retries for record in gateway.records} == {0}


async def test_g62_a_stream_after_each_of_which_the_engine_closes() -> None:
    async with (
        always(CHAT.reply().closing()) as engine,
        serving(engine) as gateway,
        gateway.client() as client,
    ):
        for _ in range(200):
            await client.send(CHAT.request)
            answer = await client.read_response()
            assert (answer.body.data, answer.body.complete) == (CHAT.whole, True)


class DiesOnReuse:
    """Each connection answers once; a second request on it finds it dead."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def __call__(self, request: ReceivedRequest) -> Reply:
        if request.connection in self.seen:
            return Reply((Reset(),))
        self.seen.add(request.connection)
        return default_reply(request)


async def test_a_reused_connection_that_dies_is_tried_once_more_afresh() -> None:
    """On the same engine, without the budget, without a word, even when no other engine is left."""
    async with ScriptedEngine(DiesOnReuse()) as engine, serving(engine) as gateway:
        for _ in range(100):
            answer = await gateway.ask(ASK)
            assert (answer.status, answer.header("x-proa-engine")) == (200, "main")
        assert {(r.outcome, r.retries) for r in gateway.records} == {("ok", 0)}
        assert gateway.in_flight("main") == 0


async def test_it_is_tried_afresh_once_only() -> None:
    replies = [json_reply({}), Reply((Reset(),)), Reply((Reset(),))]
    async with ScriptedEngine(replies) as engine, serving(engine) as gateway:
        assert (await gateway.ask(ASK)).status == 200
        assert (await gateway.ask(ASK)).status == 502
        assert len(engine.requests) == 3


async def test_never_after_a_byte_of_the_answer() -> None:
    replies = [json_reply({}), Reply((Send(b"HTTP/1.1 2"), Reset()))]
    async with (
        ScriptedEngine(replies) as engine,
        ScriptedEngine() as other,
        serving(engine, other, routing=MAIN_FIRST) as gateway,
    ):
        assert (await gateway.ask(ASK)).status == 200
        answer = await gateway.ask(ASK)
        assert (answer.status, answer.header("x-proa-engine")) == (200, "aux")
        assert len(engine.requests) == 2  # not a third time


async def test_an_engine_that_came_back_is_reached_over_dead_connections() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        for _ in range(5):
            assert (await gateway.ask(ASK)).status == 200
            await engine.stop()
            await engine.start()


async def test_idle_bytes_from_an_engine_close_its_connection() -> None:
    noisy = json_reply({}).followed_by(Send(b"HTTP/1.1 408 Request Timeout\r\n\r\n"))
    async with always(noisy) as engine, serving(engine) as gateway, gateway.client() as client:
        for _ in range(50):
            await client.send(ASK)
            answer = await client.read_response()
            assert (answer.status, answer.body.data) == (200, b"{}")


async def test_an_answer_with_bytes_left_over_is_not_followed_on_its_connection() -> None:
    body = json_reply({}).steps[0]
    assert isinstance(body, Send)
    extra = Reply((Send(body.data + b"{}" + b"trailing garbage"),))
    async with always(extra) as engine, serving(engine) as gateway:
        for _ in range(3):
            answer = await gateway.ask(ASK)
            assert (answer.status, answer.body.data) == (200, b"{}")
        assert engine.connections_made == 3


async def test_a_connection_to_an_engines_former_address_is_not_used_again() -> None:
    gate = asyncio.Event()
    former = always(json_reply(chat_completion()).preceded_by(WaitFor(gate)))
    async with former, ScriptedEngine() as present, serving(former) as gateway:
        waiting = asyncio.ensure_future(gateway.ask(ASK))
        await former.wait_running(1)
        spec = engine_spec(present, "main")
        gateway.apply(msgspec.structs.replace(gateway.plane.settings, engines=(spec,)))
        gate.set()
        assert (await waiting).status == 200
        assert (await gateway.ask(ASK)).status == 200
        assert (len(former.requests), len(present.requests)) == (1, 1)
