"""Late short requests get a second try; one answer goes out and nothing else is left."""

import asyncio
import gc
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.gateway.harness import AnyEngine, Gateway, engine_spec, serving
from tests.gateway.routes import main_first
from tests.gateway.test_aborts import alive, leave_often, settled

from proa.domain.fleet import EngineState
from proa.domain.load import EngineLoadView, LoadView
from proa.domain.outcome import Outcome
from proa.gateway.settings import AdmissionSettings
from proa.routing.spec import BreakerSpec, PolicyOptions, RouteSpec, RoutingSpec
from proa.telemetry.rows import Engine
from proa.testing.ports import hanging_port
from proa.testing.raw_response import RawResponse, json_request
from proa.testing.received import ReceivedRequest
from proa.testing.replies import Framing, body_reply, json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, Reset, Send, Stall, WaitFor

BODY = {"model": "scripted", "messages": [], "max_tokens": 16}
ASK = json_request(BODY)
ANSWER = json_reply({"from": "first"})
OTHER = json_reply({"from": "second"})
STALL = Reply((Stall(),))
SEEN = 140  # short requests, of which 3 % are 4.2


def hedging(share: float = 0.03, others: tuple[str, ...] = ("aux",)) -> RoutingSpec:
    return RoutingSpec(
        routes=(RouteSpec(name="main-first", prefer=("main",), overflow=others),),
        breaker=BreakerSpec(failures=1000),  # not what is tested here
        policy_options=PolicyOptions(hedge=True, hedge_share=share),
    )


class Switched(ScriptedEngine):
    """Gives `reply`, which a test changes."""

    def __init__(self, reply: Reply = ANSWER) -> None:
        self.reply = reply
        super().__init__(lambda _: self.reply)


@asynccontextmanager
async def late(
    *engines: AnyEngine, routing: RoutingSpec | None = None, seen: int = SEEN, **more: Any
) -> AsyncIterator[Gateway]:
    """A gateway that has seen how long short requests take on `main`."""
    async with serving(*engines, routing=routing or hedging(), **more) as gateway:
        async with gateway.client() as client:
            for _ in range(seen):
                await client.send(ASK)
                assert (await client.read_response()).status == 200
        yield gateway


async def ask_late(
    gateway: Gateway, request: bytes = ASK, seconds: float = 30.0
) -> asyncio.Future[RawResponse]:
    """A request that `main` has had for so long at a sweep."""
    ask = asyncio.ensure_future(gateway.ask(request))
    await gateway.until(lambda: is_sent(gateway))
    gateway.advance(seconds)
    return ask


def is_sent(gateway: Gateway) -> bool:
    """Whether the one request that is open has gone to its first engine."""
    attempts = [c.exchange.attempt for c in gateway.plane.connections if c.exchange is not None]
    return any(attempt is not None and attempt.body_sent for attempt in attempts)


def ends(gateway: Gateway, engine: str = "aux") -> tuple[int, int, int]:
    """Hedges won, lost and failed."""
    cells = (Engine.HEDGES_WON, Engine.HEDGES_LOST, Engine.HEDGES_FAILED)
    won, lost, failed = (gateway.engine(engine, cell) for cell in cells)
    return won, lost, failed


def outcome(gateway: Gateway, engine: str, kind: Outcome) -> int:
    return gateway.engine(engine, Engine.OUTCOME + kind)


FORMS = {
    "in one read": OTHER,
    "chunked": body_reply([b"one", b"two"], framing=Framing.CHUNKED),
    "until close": body_reply([b"one", b"two"], framing=Framing.UNTIL_CLOSE),
    "large": body_reply([Send(b"x" * 100_000, times=30)], framing=Framing.CHUNKED),
}


@pytest.mark.parametrize("reply", FORMS.values(), ids=list(FORMS))
async def test_the_second_engine_wins_and_the_first_is_cancelled(reply: Reply) -> None:
    async with Switched() as main, Switched(reply) as aux, late(main, aux) as gateway:
        main.reply = STALL
        ask = await ask_late(gateway)
        answer = await ask
        assert answer.status == 200
        assert answer.body.complete
        assert answer.header("x-proa-engine") == "aux"
        assert (answer.header("x-proa-decision") or "").endswith(" hedged=aux")
        await main.wait_aborted(1)
        assert bytes(aux.requests[0].body) == bytes(main.requests[-1].body)
        record = gateway.records[-1]
        assert (record.engine, record.hedged, record.retries) == ("aux", "aux", 0)
        assert ends(gateway) == (1, 0, 0)
        assert outcome(gateway, "main", Outcome.CANCELLED) == 1
        assert outcome(gateway, "main", Outcome.BROKEN) == 0
        assert gateway.engine("main", Engine.RETRIES) == 0


@pytest.mark.parametrize("is_known", [True, False], ids=["known head", "another head"])
async def test_the_first_engine_wins_and_the_second_is_cancelled(is_known: bool) -> None:
    async with Switched() as main, Switched(STALL) as aux, late(main, aux) as gateway:
        go = asyncio.Event()
        reply = ANSWER if is_known else FORMS["chunked"]
        main.reply = reply.preceded_by(WaitFor(go))
        ask = await ask_late(gateway)
        await aux.wait_requests(1)
        go.set()
        answer = await ask
        assert answer.header("x-proa-engine") == "main"
        assert "hedged" not in (answer.header("x-proa-decision") or "")
        await aux.wait_aborted(1)
        assert ends(gateway) == (0, 1, 0)
        assert outcome(gateway, "aux", Outcome.CANCELLED) == 1
        record = gateway.records[-1]
        assert (record.engine, record.hedged, record.retries) == ("main", "aux", 0)


async def test_whose_answer_has_only_begun_may_still_lose() -> None:
    async with Switched() as main, Switched() as aux, late(main, aux) as gateway:
        begin, go = asyncio.Event(), asyncio.Event()
        half = body_reply([b"one", Stall()], framing=Framing.CHUNKED)
        main.reply = half.preceded_by(WaitFor(begin))
        aux.reply = OTHER.preceded_by(WaitFor(go))
        ask = await release(gateway, aux, begin)
        received = gateway.engine("main", Engine.RECEIVED)
        await gateway.until_swept(lambda: gateway.engine("main", Engine.RECEIVED) > received)
        go.set()
        answer = await ask
        assert answer.status == 200
        assert answer.header("x-proa-engine") == "aux"


async def release(
    gateway: Gateway, aux: ScriptedEngine, go: asyncio.Event
) -> asyncio.Future[RawResponse]:
    """A request that both engines have, when they begin to answer."""
    ask = await ask_late(gateway)
    await aux.wait_requests(1)
    go.set()
    return ask


FAULTS = {
    "reset": Reply((Reset(),)),
    "500": json_reply({"error": {"message": "no"}}, status=500),
    "429": json_reply({"error": {"message": "no"}}, status=429),
    "400": json_reply({"error": {"message": "no"}}, status=400),
    "garbage": Reply((Send(b"SSH-2.0\r\n"),)),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
async def test_a_second_one_that_fails_leaves_the_first(fault: Reply) -> None:
    async with Switched() as main, Switched(fault) as aux, late(main, aux) as gateway:
        go = asyncio.Event()
        main.reply = ANSWER.preceded_by(WaitFor(go))
        ask = await ask_late(gateway)
        await gateway.until(lambda: bool(aux.requests) and gateway.in_flight("aux") == 0)
        assert not ask.done()
        go.set()
        answer = await ask
        assert (answer.status, answer.header("x-proa-engine")) == (200, "main")
        assert ends(gateway) == (0, 0, 1)


@pytest.mark.parametrize("name", ["reset", "500", "429", "garbage"])
async def test_a_first_one_that_fails_leaves_the_second(name: str) -> None:
    async with Switched() as main, Switched() as aux, late(main, aux) as gateway:
        first, second = asyncio.Event(), asyncio.Event()
        main.reply = FAULTS[name].preceded_by(WaitFor(first))
        aux.reply = OTHER.preceded_by(WaitFor(second))
        ask = await ask_late(gateway)
        await aux.wait_requests(1)
        first.set()
        await gateway.until(lambda: gateway.in_flight("main") == 0)
        assert not ask.done()
        second.set()
        answer = await ask
        assert (answer.status, answer.header("x-proa-engine")) == (200, "aux")
        assert ends(gateway) == (1, 0, 0)
        assert len(aux.requests) == 1


async def test_the_first_ones_word_on_the_request_itself_stands() -> None:
    async with Switched() as main, Switched(STALL) as aux, late(main, aux) as gateway:
        go = asyncio.Event()
        main.reply = FAULTS["400"].preceded_by(WaitFor(go))
        answer = await (await release(gateway, aux, go))
        assert (answer.status, answer.header("x-proa-engine")) == (400, "main")
        await aux.wait_aborted(1)
        assert ends(gateway) == (0, 1, 0)


@pytest.mark.parametrize("first_to_fail", ["main", "aux"])
async def test_both_fail(first_to_fail: str) -> None:
    """As after a retry: no third engine, and the client is told so."""
    async with (
        Switched() as main,
        Switched() as aux,
        Switched() as third,
        late(main, aux, third, routing=hedging(others=("aux", "engine2"))) as gateway,
    ):
        gates = {"main": asyncio.Event(), "aux": asyncio.Event()}
        main.reply = FAULTS["reset"].preceded_by(WaitFor(gates["main"]))
        aux.reply = FAULTS["reset"].preceded_by(WaitFor(gates["aux"]))
        ask = await ask_late(gateway)
        await aux.wait_requests(1)
        gates.pop(first_to_fail).set()
        await gateway.until(lambda: gateway.in_flight(first_to_fail) == 0)
        assert not ask.done()
        for gate in gates.values():
            gate.set()
        answer = await ask
        assert answer.status == 502
        assert b"two engines failed" in answer.body.data
        assert len(third.requests) == 0
        assert ends(gateway) == (0, 0, 1)
        assert gateway.records[-1].outcome == "broken"


async def test_a_client_that_leaves_cancels_both() -> None:
    async with Switched() as main, Switched(STALL) as aux, late(main, aux) as gateway:
        main.reply = STALL
        async with gateway.client() as client:
            await client.send(ASK)
            await gateway.until(lambda: is_sent(gateway))
            gateway.advance(30.0)
            await aux.wait_requests(1)
        await main.wait_aborted(1)
        await aux.wait_aborted(1)
        await gateway.until_idle()
        assert ends(gateway) == (0, 1, 0)
        assert gateway.records[-1].outcome == "cancelled"


async def test_the_budget_bounds_hedges() -> None:
    async with Switched() as main, Switched(OTHER) as aux, late(main, aux) as gateway:
        main.reply = STALL
        for _ in range(3):  # as many as are saved up
            assert (await (await ask_late(gateway))).status == 200
        ask = await ask_late(gateway)
        gateway.advance(30.0)
        assert gateway.in_flight("aux") == 0
        assert len(aux.requests) == 3
        ask.cancel()
        await gateway.until_idle()


async def test_what_is_no_longer_late_is_learned() -> None:
    """A try that was cancelled counts for as long as it took until then."""
    async with (
        Switched() as main,
        Switched(OTHER) as aux,
        late(main, aux, routing=hedging(1.0)) as gateway,
    ):
        main.reply = STALL
        while True:
            ask = await ask_late(gateway)
            if not gateway.in_flight("aux"):
                break
            await ask
        assert 5 <= ends(gateway)[0] <= 12
        ask.cancel()
        await gateway.until_idle()


NOT_HEDGED = {
    "stream": json_request(BODY | {"stream": True}),
    "no limit": json_request({"model": "scripted", "messages": []}),
    "long": json_request(BODY | {"max_tokens": 257}),
    "responses": json_request(BODY, target="/v1/responses"),
    "tokenize": json_request(BODY, target="/tokenize"),
    "large": json_request(BODY | {"messages": ["x" * 70_000]}),
}


@pytest.mark.parametrize("request_bytes", NOT_HEDGED.values(), ids=list(NOT_HEDGED))
async def test_other_requests_are_never_hedged(request_bytes: bytes) -> None:
    async with Switched() as main, Switched() as aux, late(main, aux) as gateway:
        main.reply = STALL
        ask = await ask_late(gateway, request_bytes)
        await gateway.until_swept(lambda: bool(main.requests))
        assert (gateway.in_flight("main"), gateway.in_flight("aux")) == (1, 0)
        ask.cancel()
        await gateway.until_idle()


async def test_it_is_off_by_default() -> None:
    async with Switched() as main, Switched() as aux, late(main, aux, routing=main_first()) as gw:
        main.reply = STALL
        assert gw.plane.hedges is None
        ask = await ask_late(gw)
        assert gw.in_flight("aux") == 0
        ask.cancel()
        await gw.until_idle()


async def test_switched_off_at_a_reload_what_is_under_way_stays() -> None:
    async with Switched() as main, Switched() as aux, late(main, aux) as gateway:
        go = asyncio.Event()
        main.reply, aux.reply = STALL, OTHER.preceded_by(WaitFor(go))
        ask = await ask_late(gateway)
        assert gateway.in_flight("aux") == 1
        settings = gateway.plane.settings
        from_now = type(settings)(engines=settings.engines, routing=main_first())
        gateway.apply(from_now)
        go.set()
        assert (await ask).header("x-proa-engine") == "aux"
        ask = await ask_late(gateway)
        assert gateway.in_flight("aux") == 0
        ask.cancel()
        await gateway.until_idle()


async def test_too_few_durations_tell_nothing() -> None:
    async with Switched() as main, Switched() as aux, late(main, aux, seen=60) as gateway:
        main.reply = STALL
        ask = await ask_late(gateway)
        assert gateway.in_flight("aux") == 0
        ask.cancel()
        await gateway.until_idle()


async def test_only_an_idle_engine_that_is_well_gets_a_second_try() -> None:
    async with Switched() as main, Switched(STALL) as aux, late(main, aux) as gateway:
        main.reply = STALL
        busy = LoadView(1, (EngineLoadView(name="aux", foreign=1),))
        gateway.plane.apply_loads(busy)
        ask = await ask_late(gateway)
        assert gateway.in_flight("aux") == 0  # others use it
        gateway.plane.apply_loads(LoadView(2, ()))
        gateway.see({"aux": EngineState.UNREACHABLE})
        gateway.advance(0.25)
        assert gateway.in_flight("aux") == 0  # it is gone, since the request was matched
        gateway.see()
        gateway.advance(0.25)
        assert gateway.in_flight("aux") == 1
        ask.cancel()
        await gateway.until_idle()


async def test_no_second_try_takes_a_place_that_others_wait_for() -> None:
    admission = AdmissionSettings(max_concurrent_requests=1)
    async with (
        Switched() as main,
        Switched() as aux,
        late(main, aux, admission=admission) as gateway,
    ):
        main.reply = STALL
        ask = await ask_late(gateway)
        assert gateway.in_flight("aux") == 0
        ask.cancel()
        await gateway.until_idle()


async def test_a_second_engine_that_cannot_be_reached_costs_nothing() -> None:
    async with Switched() as main, Switched() as aux, late(main, aux) as gateway:
        go = asyncio.Event()
        main.reply = ANSWER.preceded_by(WaitFor(go))
        await aux.stop()
        ask = await ask_late(gateway)
        await gateway.until(lambda: outcome(gateway, "aux", Outcome.BROKEN) == 1)
        go.set()
        assert (await ask).header("x-proa-engine") == "main"
        assert ends(gateway) == (0, 0, 1)


@pytest.mark.parametrize("first_fails", [False, True])
async def test_a_second_engine_that_cannot_be_connected_in_time(first_fails: bool) -> None:
    with hanging_port() as port:
        async with Switched() as main, late(main, f"http://127.0.0.1:{port}") as gateway:
            go = asyncio.Event()
            main.reply = (FAULTS["reset"] if first_fails else ANSWER).preceded_by(WaitFor(go))
            ask = await ask_late(gateway)
            assert gateway.in_flight("aux") == 1
            gateway.advance(2.9)
            if first_fails:
                go.set()
                await gateway.until(lambda: gateway.in_flight("main") == 0)
                gateway.advance(2.9)  # it is the only one now, and has its time
            assert gateway.in_flight("aux") == 1
            gateway.advance(0.2)
            assert gateway.in_flight("aux") == 0
            go.set()
            assert (await ask).status == (504 if first_fails else 200)
            assert ends(gateway) == (0, 0, 1)


async def test_a_pooled_connection_that_the_second_engine_has_closed_is_replaced() -> None:
    async with Switched() as main, Switched() as aux, late(main, aux) as gateway:
        gateway.see({"main": EngineState.UNREACHABLE})
        assert (await gateway.ask(ASK)).header("x-proa-engine") == "aux"
        gateway.see()
        main.reply, aux.reply = STALL, OTHER
        closing = asyncio.ensure_future(aux.stop(reset=False))
        ask = asyncio.ensure_future(gateway.ask(ASK))
        await gateway.until(lambda: is_sent(gateway))
        await closing
        await aux.start()
        gateway.advance(3.0)
        assert (await ask).header("x-proa-engine") == "aux"
        assert ends(gateway) == (1, 0, 0)


REPLIES = (
    ANSWER, STALL, STALL, FORMS["chunked"], FORMS["until close"], *FAULTS.values(),
    FORMS["chunked"].first_bytes(100, Stall()), FORMS["chunked"].first_bytes(100, Reset()),
)  # fmt: skip


async def test_a_thousand_aborts_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters zero and no object left, without the garbage collector's help."""
    dice = random.Random(4)
    monkeypatch.setattr("tests.gateway.test_aborts.REQUESTS", (ASK, ASK * 3))

    def script(_: ReceivedRequest) -> Reply:
        return dice.choice(REPLIES)

    async def sweep_often(gateway: Gateway) -> None:
        while True:
            gateway.advance(5.0)
            for _ in range(10):
                await asyncio.sleep(0)

    names = [f"engine{number}" for number in range(12)]
    async with (
        ScriptedEngine(script) as engine,
        serving(
            *(engine_spec(engine, name) for name in names),
            routing=RoutingSpec(
                breaker=BreakerSpec(failures=1000),
                policy_options=PolicyOptions(hedge=True, hedge_share=1.0),
            ),
        ) as gateway,
    ):
        hedges = gateway.plane.hedges
        assert hedges is not None
        for name in names:
            for _ in range(200):
                hedges._hedging.ended((name, b"/v1/chat/completions"), 0.1)
        gc.collect()
        before = alive()  # what other tests still hold
        gc.disable()
        try:
            sweeping = asyncio.ensure_future(sweep_often(gateway))
            await asyncio.gather(*(leave_often(gateway, 125, seed) for seed in range(8)))
            sweeping.cancel()
            await settled(gateway)
            await gateway.until(lambda: not alive() - before, "end of all exchanges")
        finally:
            gc.enable()
        assert not hedges._open
        assert engine.running == 0
        told = [sum(ends(gateway, name)[n] for name in names) for n in range(3)]
        assert sum(told) == sum(record.hedged is not None for record in gateway.records)
        assert min(told) > 0
