"""Requests wait in the gateway for a place: who, for how long, and in which order they start."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec
import pytest
from tests.gateway.crowd import Crowd, Doors, ask, queued, user_of
from tests.gateway.harness import Gateway, engine_spec, key_spec, serving
from tests.gateway.routes import main_first

from proa.domain.fleet import EngineSpec, EngineState
from proa.domain.load import EngineLoad, EngineLoadView, LoadView
from proa.gateway.settings import AdmissionSettings, GatewaySettings, LimitsSettings
from proa.routing.admission.priority import Priority
from proa.routing.spec import MatchSpec, RouteSpec, RoutingSpec
from proa.telemetry.rows import Header
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import RawResponse
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine

Headers = tuple[tuple[str, str], ...]


def code_of(answer: RawResponse) -> object:
    return json.loads(answer.body.data)["error"]["code"]


def one_at_a_time(engine: ScriptedEngine, name: str = "main") -> EngineSpec:
    return engine_spec(engine, name, max_concurrent_requests=1)


def routes(**by_class: Priority) -> RoutingSpec:
    """A route `/NAME` to the chat for each class."""
    return RoutingSpec(
        routes=tuple(
            RouteSpec(
                name=name,
                match=MatchSpec(path=f"/{name}"),
                rewrite_path="/v1/chat/completions",
                priority=priority,
            )
            for name, priority in by_class.items()
        )
    )


FOUR = routes(
    system=Priority.SYSTEM,
    chat=Priority.INTERACTIVE,
    plain=Priority.DEFAULT,
    bulk=Priority.BULK,
)


PATIENT = RoutingSpec(routes=(RouteSpec(name="all", max_wait_s=60.0),))


async def test_an_engine_gets_no_more_than_its_cap_and_the_rest_waits_in_order() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(engine_spec(engine, "main", max_concurrent_requests=2)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "abcde":
            await crowd.send(name)
        await gateway.until(lambda: engine.running == 2, "two running")
        assert (gateway.in_flight("main"), queued(gateway)) == (2, [0, 0, 3, 0])
        doors.open("a", "b", "c", "d", "e")
        answers = [await crowd.answer(name) for name in "abcde"]
        assert [answer.status for answer in answers] == [200] * 5
        assert doors.order == list("abcde")
        assert queued(gateway) == [0, 0, 0, 0]
        decisions = [str(answer.header("x-proa-decision")) for answer in answers]
        assert ["queued_ms=" in decision for decision in decisions] == [False] * 2 + [True] * 3
        await gateway.until(lambda: len(gateway.records) == 5, "all records")
        assert [r.queued_ms is not None for r in gateway.records] == [False] * 2 + [True] * 3
        assert gateway.header(Header.WAIT_BUCKET) + gateway.header(Header.WAIT_BUCKET + 1) > 0


async def test_classes_go_in_their_order_until_they_have_aged() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), routing=FOUR) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("first", ask("first"))
        await crowd.send("old", ask("old", path="/bulk"))
        gateway.advance(30.0)
        for name in ("bulk", "plain", "chat", "system"):
            await crowd.send(name, ask(name, path=f"/{name}"))
        assert queued(gateway) == [1, 1, 1, 2]
        doors.open("first", "old", "bulk", "plain", "chat", "system")
        for name in crowd.clients:
            assert (await crowd.answer(name)).status == 200
        assert doors.order == ["first", "old", "system", "chat", "plain", "bulk"]


@pytest.mark.parametrize(
    ("path", "asked", "key", "rank"),
    [
        ("/plain", "bulk", "weak", 3),
        ("/plain", "interactive", "weak", 2),
        ("/plain", "interactive", "strong", 1),
        ("/plain", "system", "strong", 1),
        ("/chat", "Default", "strong", 2),
    ],
)
async def test_a_client_cannot_raise_its_class_above_its_keys(
    path: str, asked: str, key: str, rank: int
) -> None:
    keys = (key_spec("weak", "weak"), key_spec("strong", "strong", priority=Priority.INTERACTIVE))
    async with (
        ScriptedEngine(doors := Doors()) as engine,
        serving(one_at_a_time(engine), routing=FOUR, keys=keys) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        login = ("authorization", f"Bearer {key}")
        await crowd.send("first", None, login)
        await crowd.send("asks", ask("asks", login, ("x-proa-priority", asked), path=path))
        assert queued(gateway).index(1) == rank
        doors.open("first", "asks")
        await crowd.answer("asks")


@pytest.mark.parametrize("header", [("x-proa-priority", "urgent"), ("x-proa-deadline-ms", "1e3")])
async def test_a_wrong_wish_is_told(header: tuple[str, str]) -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        answer = await gateway.ask(ask("x", header))
        assert answer.status == 400
        assert header[0] in answer.body.data.decode()


async def test_users_take_turns() -> None:
    doors = Doors()
    keys = (key_spec("many", "many"), key_spec("few", "few"))
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), keys=keys) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in ("m0", "m1", "m2", "m3"):
            await crowd.send(name, None, ("authorization", "Bearer many"))
        await crowd.send("f0", None, ("authorization", "Bearer few"))
        doors.open("m0", "m1", "m2", "m3", "f0")
        for name in crowd.clients:
            await crowd.answer(name)
        assert doors.order.index("f0") <= 2


async def test_a_full_queue_refuses_and_a_higher_class_takes_the_place_of_a_lower_one() -> None:
    doors = Doors()
    settings = AdmissionSettings(queue_size=2)
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), routing=FOUR, admission=settings) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name, path in (("run", "/bulk"), ("b1", "/bulk"), ("b2", "/bulk"), ("b3", "/bulk")):
            await crowd.send(name, ask(name, path=path))
        refused = await crowd.answer("b3")
        assert (refused.status, refused.header("retry-after")) == (429, "1")
        assert code_of(refused) == "queue_full"
        await crowd.send("chat", ask("chat", path="/chat"))
        assert (await crowd.answer("b2")).status == 429
        assert queued(gateway) == [0, 1, 0, 1]
        assert gateway.header(Header.REFUSED_QUEUE_FULL) == 1
        assert gateway.header(Header.REFUSED_SHED) == 1
        doors.open("run", "b1", "chat")
        assert (await crowd.answer("b1")).status == 200
        assert doors.order == ["run", "chat", "b1"]


async def test_what_may_not_wait_is_refused_at_once_when_saturated() -> None:
    """G86."""
    sheds = RoutingSpec(routes=(RouteSpec(name="shed", priority=Priority.BULK, max_wait_s=0.0),))
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), routing=sheds) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("runs")
        answer = await gateway.ask(ask("shed"))
        assert (answer.status, answer.header("retry-after")) == (429, "1")
        assert code_of(answer) == "wait_too_long"
        assert gateway.header(Header.REFUSED_SATURATED) == 1
        doors.open("runs")
        assert (await crowd.answer("runs")).status == 200
        doors.open("later")
        assert (await gateway.ask(ask("later"))).status == 200


async def test_who_has_not_started_in_time_is_refused() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("runs")
        await crowd.send("hurry", None, ("x-proa-deadline-ms", "5000"))
        gateway.advance(4.0)
        assert queued(gateway) == [0, 0, 1, 0]
        gateway.advance(1.1)
        answer = await crowd.answer("hurry")
        assert (answer.status, code_of(answer)) == (429, "wait_too_long")
        assert gateway.header(Header.REFUSED_EXPIRED) == 1
        doors.open("runs")
        assert (await crowd.answer("runs")).status == 200


async def test_who_would_not_start_in_time_is_refused_at_once() -> None:
    """One start a second: with four ahead, a wait of two seconds is hopeless, one of ten is not."""
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        names = [f"r{n}" for n in range(10)]
        for name in names:
            await crowd.send(name)
        for number, name in enumerate(names[:5]):
            gateway.advance(1.0)
            doors.open(name)
            await crowd.answer(name)
            await gateway.until(lambda n=number: len(doors.order) == n + 2, "next start")  # type: ignore[misc]
        assert queued(gateway) == [0, 0, 4, 0]
        hopeless = await gateway.ask(ask("hopeless", ("x-proa-deadline-ms", "2000")))
        assert hopeless.status == 429
        assert 2 <= int(hopeless.header("retry-after") or 0) <= 4
        assert gateway.header(Header.REFUSED_DEADLINE) == 1
        await crowd.send("patient", None, ("x-proa-deadline-ms", "10000"))
        assert queued(gateway) == [0, 0, 5, 0]
        doors.open(*names, "patient")
        assert (await crowd.answer("patient")).status == 200


async def test_a_waiting_request_is_bound_to_no_engine() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as main,
        ScriptedEngine(doors) as aux,
        serving(one_at_a_time(main), one_at_a_time(aux, "aux")) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "abc":
            await crowd.send(name)
        await gateway.until(lambda: main.running + aux.running == 2, "both busy")
        freed = "main" if user_of(main.requests[0]) == "b" else "aux"
        doors.open("b", "c")
        assert (await crowd.answer("c")).header("x-proa-engine") == freed
        doors.open("a")
        await crowd.answer("a")


async def test_an_overflow_engine_with_a_place_is_used_before_anybody_waits() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as main,
        ScriptedEngine(doors) as aux,
        serving(one_at_a_time(main), one_at_a_time(aux, "aux"), routing=main_first()) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "ab":
            await crowd.send(name)
        doors.open("a", "b")
        assert [(await crowd.answer(n)).header("x-proa-engine") for n in "ab"] == ["main", "aux"]


async def test_a_full_engine_holds_up_nobody_who_wants_another_model() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as main,
        ScriptedEngine(doors) as aux,
        serving(one_at_a_time(main), one_at_a_time(aux, "aux")) as gateway,
        AsyncExitStack() as stack,
    ):
        gateway.see(models={"main": ["big"], "aux": ["small"]})
        crowd = Crowd(gateway, stack)
        for name in "ab":
            await crowd.send(name, ask(name, model="big"))
        assert queued(gateway) == [0, 0, 1, 0]
        doors.open("c")
        assert (await gateway.ask(ask("c", model="small"))).status == 200
        doors.open("a", "b")
        assert (await crowd.answer("b")).status == 200


async def test_the_sum_over_all_engines_may_be_limited() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as main,
        ScriptedEngine(doors) as aux,
        serving(main, aux, admission=AdmissionSettings(max_concurrent_requests=3)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "abcde":
            await crowd.send(name)
        await gateway.until(lambda: main.running + aux.running == 3, "three running")
        assert queued(gateway) == [0, 0, 2, 0]
        doors.open(*"abcde")
        assert [(await crowd.answer(name)).status for name in "abcde"] == [200] * 5


def loads(*engines: EngineLoadView) -> LoadView:
    return LoadView(1, engines)


async def test_a_cap_that_was_found_out_leaves_room_for_other_clients() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(engine) as gateway,
        AsyncExitStack() as stack,
    ):
        gateway.plane.apply_loads(loads(EngineLoadView(name="main", max_concurrent=4, foreign=2)))
        crowd = Crowd(gateway, stack)
        for name in "abc":
            await crowd.send(name)
        assert (gateway.in_flight("main"), queued(gateway)) == (2, [0, 0, 1, 0])
        gateway.plane.apply_loads(loads(EngineLoadView(name="main", max_concurrent=4)))
        assert (gateway.in_flight("main"), queued(gateway)) == (3, [0, 0, 0, 0])
        doors.open(*"abc")
        for name in "abc":
            await crowd.answer(name)


async def test_stale_or_full_numbers_never_block() -> None:
    """G73: what is too old says nothing, and others can never have all places."""
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        full = EngineLoad(at_s=0.0, running=8, waiting=90)
        gateway.plane.apply_loads(
            loads(EngineLoadView(name="main", load=full, max_concurrent=8, foreign=98))
        )
        assert (await gateway.ask(ask("a"))).status == 200
        gateway.plane.apply_loads(loads(EngineLoadView(name="main", load=full)).faded())
        answers = await asyncio.gather(*(gateway.ask(ask(str(n))) for n in range(20)))
        assert {answer.status for answer in answers} == {200}
        assert gateway.header(Header.WAIT_SUM_US) == 0


async def test_five_that_wait_for_an_engine_are_served_in_order_when_one_is_ready() -> None:
    """G56."""
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), routing=PATIENT) as gateway,
        AsyncExitStack() as stack,
    ):
        gateway.see({"main": EngineState.LOADING})
        crowd = Crowd(gateway, stack)
        for name in "abcde":
            await crowd.send(name)
        assert queued(gateway) == [0, 0, 5, 0]
        doors.open(*"abcde")
        gateway.advance(30.0)
        gateway.see()
        assert [(await crowd.answer(name)).status for name in "abcde"] == [200] * 5
        assert doors.order == list("abcde")


async def test_without_an_engine_only_those_wait_of_whom_it_was_said_how_long() -> None:
    async with (
        ScriptedEngine() as engine,
        serving(engine) as gateway,
        AsyncExitStack() as stack,
    ):
        gateway.see({"main": EngineState.UNREACHABLE})
        answer = await gateway.ask(ask("plain"))
        assert (answer.status, answer.header("retry-after")) == (503, "5")
        crowd = Crowd(gateway, stack)
        await crowd.send("waits", None, ("x-proa-deadline-ms", "2000"))
        assert queued(gateway) == [0, 0, 1, 0]
        gateway.advance(2.1)
        answer = await crowd.answer("waits")
        assert (answer.status, code_of(answer)) == (503, "no_engine_ready")
        assert gateway.header(Header.REFUSED_NO_ENGINE) == 2


async def test_an_engine_that_is_added_serves_those_who_wait() -> None:
    async with (
        ScriptedEngine() as first,
        ScriptedEngine() as second,
        serving(first) as gateway,
        AsyncExitStack() as stack,
    ):
        gateway.see({"main": EngineState.UNREACHABLE})
        crowd = Crowd(gateway, stack)
        await crowd.send("waits", None, ("x-proa-deadline-ms", "60000"))
        engines = (engine_spec(first, "main"), engine_spec(second, "aux"))
        gateway.apply(settings_with(gateway, engines=engines))
        gateway.see({"main": EngineState.UNREACHABLE})
        assert (await crowd.answer("waits")).header("x-proa-engine") == "aux"


def settings_with(gateway: Gateway, **changes: object) -> GatewaySettings:
    return msgspec.structs.replace(gateway.plane.settings, **changes)


async def test_a_reload_keeps_all_who_wait_also_with_a_smaller_queue() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), routing=FOUR) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in ("run", "bulk", "chat"):
            await crowd.send(name, ask(name, path="/chat" if name == "chat" else "/bulk"))
        gateway.apply(settings_with(gateway, admission=AdmissionSettings(queue_size=1)))
        gateway.see()
        gateway.advance(1.0)
        assert queued(gateway) == [0, 1, 0, 1]
        gateway.apply(settings_with(gateway, engines=(engine_spec(engine, "main"),)))
        gateway.see()
        assert queued(gateway) == [0, 0, 0, 0]  # no cap any more
        doors.open("run", "bulk", "chat")
        assert [(await crowd.answer(name)).status for name in crowd.clients] == [200] * 3


@pytest.mark.parametrize("leave", [RawClient.half_close, RawClient.close, RawClient.reset])
async def test_a_client_that_leaves_gives_its_place_back(
    leave: Callable[[RawClient], None],
) -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "abc":
            await crowd.send(name)
        assert gateway.header(Header.HEAD_CLASS) == 3
        leave(crowd.clients["b"])
        await gateway.until(lambda: queued(gateway) == [0, 0, 1, 0], "one place less")
        doors.open("a", "c")
        assert (await crowd.answer("c")).status == 200
        assert doors.order == ["a", "c"]
        assert gateway.header(Header.HEAD_CLASS) == 0


async def test_an_engine_that_dies_leaves_those_who_wait_to_the_other() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as main,
        ScriptedEngine(doors) as aux,
        serving(one_at_a_time(main), one_at_a_time(aux, "aux"), routing=main_first()) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "abcd":
            await crowd.send(name)
        await gateway.until(lambda: main.running + aux.running == 2, "both busy")
        await main.stop()
        doors.open(*"abcd")
        answers = [await crowd.answer(name) for name in "abcd"]
        assert [answer.status for answer in answers] == [200] * 4
        assert {answer.header("x-proa-engine") for answer in answers} == {"aux"}


async def test_the_last_engine_dies_and_comes_back() -> None:
    """The one that ran fails, who waits goes on when the engine is ready again."""
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), routing=PATIENT) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "abc":
            await crowd.send(name)
        await gateway.until(lambda: engine.running == 1, "the first")
        gateway.see({"main": EngineState.UNREACHABLE})
        await engine.stop()
        assert (await crowd.answer("a")).status == 502
        assert queued(gateway) == [0, 0, 2, 0]
        await engine.start()
        doors.open("b", "c")
        gateway.see()
        assert [(await crowd.answer(name)).status for name in "bc"] == [200, 200]


async def test_who_waits_for_a_place_does_not_wait_for_an_engine_unless_told_to() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("runs")
        await crowd.send("plain")
        await crowd.send("patient", None, ("x-proa-deadline-ms", "60000"))
        gateway.see({"main": EngineState.LOADING})
        answer = await crowd.answer("plain")
        assert (answer.status, answer.header("retry-after")) == (503, "5")
        assert queued(gateway) == [0, 0, 1, 0]
        gateway.see()
        doors.open("runs", "patient")
        assert [(await crowd.answer(name)).status for name in ("runs", "patient")] == [200, 200]


async def test_an_engine_that_asks_for_a_pause_is_asked_once_more_after_it() -> None:
    """G59."""
    busy = json_reply({"error": {"message": "full"}}, status=429, headers=(("retry-after", "2"),))
    async with (
        ScriptedEngine([busy]) as engine,
        serving(engine) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("a", None, ("x-proa-deadline-ms", "10000"))
        await gateway.until(lambda: queued(gateway) == [0, 0, 1, 0], "pause")
        gateway.advance(1.9)
        assert len(engine.requests) == 1
        gateway.advance(0.2)
        answer = await crowd.answer("a")
        assert answer.status == 200
        assert "queued_ms=2" in str(answer.header("x-proa-decision"))


@pytest.mark.parametrize("headers", [(), (("x-proa-deadline-ms", "1000"),)])
async def test_no_pause_beyond_what_the_client_waits(headers: Headers) -> None:
    busy = json_reply({"error": {"message": "full"}}, status=429, headers=(("retry-after", "2"),))
    async with ScriptedEngine([busy]) as engine, serving(engine) as gateway:
        answer = await gateway.ask(ask("a", *headers))
        assert (answer.status, answer.header("retry-after")) == (429, "2")


async def test_a_pause_is_granted_once() -> None:
    busy = json_reply({"error": {"message": "full"}}, status=429, headers=(("retry-after", "1"),))
    async with (
        ScriptedEngine([busy, busy]) as engine,
        serving(engine) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("a", None, ("x-proa-deadline-ms", "10000"))
        await gateway.until(lambda: queued(gateway) == [0, 0, 1, 0], "pause")
        gateway.advance(1.1)
        assert (await crowd.answer("a")).status == 429


async def test_heartbeats_go_to_those_who_wait_and_a_refusal_comes_in_band() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), heartbeat_s=5.0) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("runs")
        deadline = ("x-proa-deadline-ms", "20000")
        await crowd.send("waits", ask("waits", deadline, stream=True))
        gateway.advance(6.0)
        gateway.advance(15.0)
        answer = await crowd.answer("waits")
        assert answer.status == 200
        text = answer.body.data.decode()
        assert text.startswith(": waiting for the engine\n\n")
        assert "has not started in the time" in text
        assert "[DONE]" not in text
        doors.open("runs")
        assert (await crowd.answer("runs")).status == 200


async def test_waiting_counts_towards_the_whole_time() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine), limits=LimitsSettings(total_timeout_s=50.0)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        await crowd.send("runs")
        await crowd.send("waits")
        gateway.advance(51.0)
        assert (await crowd.answer("runs")).status == 504
        assert (await crowd.answer("waits")).status == 429


async def test_who_waits_is_served_during_a_drain() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        serving(one_at_a_time(engine)) as gateway,
        AsyncExitStack() as stack,
    ):
        crowd = Crowd(gateway, stack)
        for name in "ab":
            await crowd.send(name)
        gateway.plane.drain()
        doors.open("a", "b")
        assert [(await crowd.answer(name)).status for name in "ab"] == [200, 200]
