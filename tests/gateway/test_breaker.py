"""The circuit breaker from outside: what opens it, and how an engine comes back (G46, G48)."""

import asyncio

import pytest
from tests.gateway.apis import CHAT
from tests.gateway.harness import Gateway, serving
from tests.gateway.routes import MAIN_FIRST, main_first

from proa.routing.spec import BreakerSpec
from proa.telemetry.rows import Engine
from proa.testing.raw_response import json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_engine import ScriptedEngine, default_reply
from proa.testing.steps import Reply, Reset, Stall

ASK = json_request({"model": "scripted", "messages": []})
CLOSED, HALF_OPEN, OPEN = 0, 1, 2


class Failing:
    """A script that fails while `reply` is set."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.reply = reply

    def __call__(self, request: ReceivedRequest) -> Reply:
        return self.reply or default_reply(request)


def breaker(gateway: Gateway, name: str = "main") -> int:
    return gateway.engine(name, Engine.BREAKER)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_g46_client_mistakes_never_open_it(status: int) -> None:
    script = Failing(json_reply({"error": {"message": "no"}}, status=status))
    async with ScriptedEngine(script) as engine, serving(engine) as gateway:
        for _ in range(10):
            assert (await gateway.ask(ASK)).status == status
        assert breaker(gateway) == CLOSED
        script.reply = None
        assert (await gateway.ask(ASK)).status == 200
        assert gateway.engine("main", Engine.OUTCOME + 1) == 10


async def test_g46_a_client_mistake_in_a_stream_does_not_either() -> None:
    event = {"error": {"message": "too long", "type": "invalid_request_error", "code": 400}}
    async with ScriptedEngine(Failing(sse_reply([event]))) as engine, serving(engine) as gateway:
        for _ in range(10):
            assert (await gateway.ask(CHAT.request)).status == 400
        assert breaker(gateway) == CLOSED


@pytest.mark.parametrize("status", [429, 503])
async def test_being_busy_does_not_open_it(status: int) -> None:
    script = Failing(json_reply({"error": {"message": "full"}}, status=status))
    async with ScriptedEngine(script) as engine, serving(engine) as gateway:
        for _ in range(10):
            assert (await gateway.ask(ASK)).status == status
        assert breaker(gateway) == CLOSED


async def test_clients_that_leave_do_not_open_it() -> None:
    async with ScriptedEngine(Failing(Reply((Stall(),)))) as engine, serving(engine) as gateway:
        for count in range(10):
            async with gateway.client() as client:
                await client.send(ASK)
                await engine.wait_running(1)
                client.reset()
            await engine.wait_aborted(count + 1)
        assert breaker(gateway) == CLOSED


BROKEN = {
    "reset": Reply((Reset(),)),
    "500": json_reply({"error": {"message": "crash"}}, status=500),
    "cut stream": CHAT.reply(CHAT.content[0], Reset()),
    "error in stream": CHAT.reply(
        CHAT.content[0], b'data: {"error":{"message":"crash","code":500}}\n\n', CHAT.ending[-1]
    ),
}


@pytest.mark.parametrize("reply", BROKEN.values(), ids=list(BROKEN))
async def test_three_broken_tries_open_it(reply: Reply) -> None:
    async with (
        ScriptedEngine(Failing(reply)) as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=MAIN_FIRST) as gateway,
    ):
        for _ in range(3):
            assert breaker(gateway) == CLOSED
            await gateway.ask(CHAT.request)
        assert breaker(gateway) == OPEN
        for _ in range(10):
            assert (await gateway.ask(CHAT.request)).body.complete
        assert len(main.requests) == 3


async def test_a_good_answer_between_keeps_it_closed() -> None:
    script = Failing(BROKEN["500"])
    async with (
        ScriptedEngine(script) as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=MAIN_FIRST) as gateway,
    ):
        for _ in range(5):
            script.reply = BROKEN["500"]
            await gateway.ask(ASK)
            await gateway.ask(ASK)
            script.reply = None
            await gateway.ask(ASK)
        assert breaker(gateway) == CLOSED
        assert len(main.requests) == 15


async def test_g48_it_closes_again_and_the_engine_gets_its_full_share() -> None:
    spec = BreakerSpec(failures=3, open_s=1.0, successes=2, slow_start_s=5.0)
    script = Failing(BROKEN["500"])
    async with (
        ScriptedEngine(script) as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=main_first(breaker=spec)) as gateway,
    ):
        for _ in range(10):
            await gateway.ask(ASK)
        assert (len(main.requests), breaker(gateway)) == (3, OPEN)
        script.reply = None
        gateway.advance(0.9)
        await gateway.ask(ASK)
        assert len(main.requests) == 3
        gateway.advance(0.2)
        assert breaker(gateway) == HALF_OPEN
        await gateway.ask(ASK)
        assert (len(main.requests), breaker(gateway)) == (4, HALF_OPEN)
        await gateway.ask(ASK)
        assert (len(main.requests), breaker(gateway)) == (5, CLOSED)
        before = len(main.requests)
        for _ in range(100):
            await gateway.ask(ASK)
        early = len(main.requests) - before
        assert 1 <= early <= 30  # a tenth, at the beginning
        gateway.advance(2.5)
        before = len(main.requests)
        for _ in range(100):
            await gateway.ask(ASK)
        assert 30 <= len(main.requests) - before <= 80  # half of it
        gateway.advance(2.6)
        before = len(main.requests)
        for _ in range(20):
            await gateway.ask(ASK)
        assert len(main.requests) - before == 20


async def test_one_trial_at_a_time_and_a_failed_one_opens_for_longer() -> None:
    spec = BreakerSpec(failures=1, open_s=1.0, max_open_s=30.0)
    script = Failing(BROKEN["500"])
    async with (
        ScriptedEngine(script) as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=main_first(breaker=spec)) as gateway,
    ):
        await gateway.ask(ASK)
        gateway.advance(1.1)
        script.reply = Reply((Stall(),))
        trial = asyncio.ensure_future(gateway.ask(CHAT.request))
        await main.wait_running(1)
        for _ in range(10):
            assert (await gateway.ask(ASK)).header("x-proa-engine") == "aux"
        assert len(main.requests) == 2
        gateway.advance(301.0)
        assert (await trial).header("x-proa-engine") == "aux"
        assert breaker(gateway) == OPEN
        script.reply = None
        gateway.advance(1.5)
        assert breaker(gateway) == OPEN
        gateway.advance(1.0)
        assert breaker(gateway) == HALF_OPEN


async def test_a_trial_whose_client_leaves_gives_the_place_back() -> None:
    spec = BreakerSpec(failures=1, open_s=1.0)
    script = Failing(BROKEN["500"])
    async with (
        ScriptedEngine(script) as main,
        ScriptedEngine() as aux,
        serving(main, aux, routing=main_first(breaker=spec)) as gateway,
    ):
        await gateway.ask(ASK)
        gateway.advance(1.1)
        script.reply = Reply((Stall(),))
        async with gateway.client() as client:
            await client.send(ASK)
            await main.wait_running(1)
        await main.wait_aborted(1)
        assert breaker(gateway) == HALF_OPEN
        script.reply = None
        for _ in range(2):
            assert (await gateway.ask(ASK)).header("x-proa-engine") == "main"
        assert breaker(gateway) == CLOSED


async def test_the_last_engine_is_never_ejected() -> None:
    async with ScriptedEngine(Failing(BROKEN["500"])) as engine, serving(engine) as gateway:
        for count in range(10):
            answer = await gateway.ask(ASK)
            assert answer.status == 500
            assert len(engine.requests) == count + 1
