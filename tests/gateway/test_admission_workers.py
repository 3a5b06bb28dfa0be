"""One cap, one order over the queues of several workers."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
from tests.gateway.crowd import Crowd, Doors, ask, queued
from tests.gateway.harness import Gateway, engine_spec
from tests.gateway.supervised import settings_for, supervised, until, url_of

from proa.gateway.bells import Bells
from proa.gateway.settings import AdmissionSettings, GatewaySettings
from proa.routing.admission.priority import Priority
from proa.routing.spec import MatchSpec, RouteSpec, RoutingSpec
from proa.telemetry.rows import Engine, Header, SharedRows, engine_base
from proa.testing.raw_client import RawClient
from proa.testing.received import ReceivedRequest
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply

CHAT = RouteSpec(
    name="chat",
    match=MatchSpec(path="/chat"),
    rewrite_path="/v1/chat/completions",
    priority=Priority.INTERACTIVE,
)


@asynccontextmanager
async def two_workers(engine: ScriptedEngine, cap: int) -> AsyncIterator[tuple[Gateway, Gateway]]:
    """Two data planes in this process that share rows and bells, as two workers do."""
    rows, bells = SharedRows.create(3), Bells.create()
    settings = GatewaySettings(
        engines=(engine_spec(engine, "main", max_concurrent_requests=cap),),
        routing=RoutingSpec(routes=(CHAT,)),
    )
    gateways = [Gateway(settings, rows=rows, row_index=index) for index in (1, 2)]
    loop = asyncio.get_running_loop()
    for index, gateway in enumerate(gateways, 1):
        gateway.plane.room.heads.bells = bells
        loop.add_reader(bells.descriptor(index), gateway.plane.room.rung)
        gateway.apply(settings)  # now both know of each other
        gateway.see()
        await gateway.start()
    try:
        yield gateways[0], gateways[1]
    finally:
        for index, gateway in enumerate(gateways, 1):
            await gateway.stop()
            loop.remove_reader(bells.descriptor(index))
        bells.close()
        os.close(rows.descriptor)


async def test_who_ends_a_request_wakes_the_worker_whose_first_goes_first() -> None:
    """No sweep runs here: all that starts was woken."""
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        two_workers(engine, cap=1) as (one, two),
        AsyncExitStack() as stack,
    ):
        first, second = Crowd(one, stack), Crowd(two, stack)
        await first.send("run")
        await first.send("plain")
        await second.send("later")
        await second.send("chat", ask("chat", path="/chat"))
        assert (queued(one), queued(two)) == ([0, 0, 1, 0], [0, 1, 1, 0])
        doors.open("run", "chat")
        assert (await first.answer("run")).status == 200
        assert (await second.answer("chat")).status == 200
        doors.open("plain", "later")
        assert (await first.answer("plain")).status == 200
        assert (await second.answer("later")).status == 200
        assert doors.order == ["run", "chat", "plain", "later"]
        assert one.header(Header.WAKE_UPS) + two.header(Header.WAKE_UPS) >= 2


async def test_a_newcomer_does_not_pass_those_who_wait_in_another_worker() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        two_workers(engine, cap=1) as (one, two),
        AsyncExitStack() as stack,
    ):
        first, second = Crowd(one, stack), Crowd(two, stack)
        await first.send("run")
        await second.send("early")
        two.plane.room.heads.bells = None  # its bell is out of order
        one.plane.room.heads.bells = None
        doors.open("run")
        assert (await first.answer("run")).status == 200
        await first.send("late")
        assert (queued(one), queued(two)) == ([0, 0, 1, 0], [0, 0, 1, 0])
        two.plane.sweep()  # a wake-up that got lost is made up for
        doors.open("early", "late")
        assert (await second.answer("early")).status == 200
        one.plane.sweep()
        assert (await first.answer("late")).status == 200
        assert doors.order == ["run", "early", "late"]


async def test_a_place_that_another_worker_does_not_use_is_taken() -> None:
    """Its head says that it waits, but nobody there answers the bell: it lasts one tick."""
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        two_workers(engine, cap=1) as (one, two),
        AsyncExitStack() as stack,
    ):
        first = Crowd(one, stack)
        head = (Header.HEAD_CLASS, Header.HEAD_SINCE_US, Header.HEAD_ENGINES)
        for cell, value in zip(head, (1, 1, -1), strict=True):
            two.row[cell] = value
        await first.send("asks")
        assert queued(one) == [0, 0, 1, 0]
        one.plane.sweep()
        doors.open("asks")
        assert (await first.answer("asks")).status == 200
        two.row[Header.HEAD_CLASS] = 0


async def test_the_bound_of_the_queue_is_one_for_all() -> None:
    doors = Doors()
    async with (
        ScriptedEngine(doors) as engine,
        two_workers(engine, cap=1) as (one, two),
        AsyncExitStack() as stack,
    ):
        for gateway in (one, two):
            gateway.apply(
                msgspec.structs.replace(
                    gateway.plane.settings, admission=AdmissionSettings(queue_size=2)
                )
            )
            gateway.see()
        first, second = Crowd(one, stack), Crowd(two, stack)
        await first.send("run")
        await first.send("a")
        await first.send("b")
        assert (await two.ask(ask("full"))).status == 429
        await second.send("chat", ask("chat", path="/chat"))  # those below it wait elsewhere
        one.plane.sweep()
        assert (await first.answer("b")).status == 429
        assert (queued(one), queued(two)) == ([0, 0, 1, 0], [0, 1, 0, 0])
        doors.open("run", "a", "chat")
        assert (await first.answer("run")).status == 200
        assert (await second.answer("chat")).status == 200
        assert (await first.answer("a")).status == 200


async def test_two_real_workers_overshoot_a_cap_by_one_at_most() -> None:
    """Forty clients that ask again and again, a cap of four: never more than five at one time."""
    cap, clients, each = 4, 40, 10
    doors = Doors()
    at_one_time: list[int] = []

    def script(request: ReceivedRequest) -> Reply:
        at_one_time.append(rows.in_flight(in_flight))
        return doors(request)

    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ScriptedEngine(script))
        settings = settings_for([engine.url], workers=2)
        capped = msgspec.structs.replace(settings.engines[0], max_concurrent_requests=cap)
        settings = msgspec.structs.replace(settings, engines=(capped,))
        supervisor = await stack.enter_async_context(supervised(settings))
        rows = supervisor.rows
        in_flight = engine_base(supervisor.engine_slots["e0"]) + Engine.IN_FLIGHT
        waiting = [Header.QUEUED + rank for rank in range(4)]
        statuses: list[int] = []

        async def ask_often(name: str) -> None:
            async with RawClient.connect(url_of(supervisor), timeout_s=30) as client:
                for number in range(each):
                    if number:
                        doors.open(f"{name}-{number}")
                    await client.send(ask(f"{name}-{number}"))
                    statuses.append((await client.read_response()).status)

        asking = asyncio.gather(*(ask_often(str(n)) for n in range(clients)))
        await until(
            lambda: sum(rows.in_flight(c) for c in (in_flight, *waiting)) == clients, "all asked"
        )
        assert cap <= rows.in_flight(in_flight) <= cap + 1
        doors.open(*(f"{n}-0" for n in range(clients)))
        await asking
        assert statuses == [200] * clients * each
        assert max(at_one_time) <= cap + 1
        await until(lambda: not sum(rows.in_flight(c) for c in (in_flight, *waiting)), "empty")


async def test_a_worker_that_dies_takes_its_queue_with_it_and_blocks_nobody() -> None:
    doors = Doors()
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ScriptedEngine(doors))
        settings = settings_for([engine.url], workers=2)
        capped = msgspec.structs.replace(settings.engines[0], max_concurrent_requests=1)
        settings = msgspec.structs.replace(settings, engines=(capped,))
        supervisor = await stack.enter_async_context(supervised(settings))
        rows, waiting = supervisor.rows, Header.QUEUED + Priority.DEFAULT.rank
        clients = [
            await stack.enter_async_context(RawClient.connect(url_of(supervisor), timeout_s=30))
            for _ in range(6)
        ]
        for number, client in enumerate(clients):
            await client.send(ask(f"r{number}"))
            await until(lambda n=number: rows.in_flight(Header.OPEN_EXCHANGES) > n, "request")  # type: ignore[misc]
        runs = next(w for w in supervisor.workers() if rows.rows[w.index][Header.OPEN_EXCHANGES])
        os.kill(runs.pid, 9)
        doors.open(*(f"r{number}" for number in range(6)))
        answers = await asyncio.gather(
            *(client.read_response() for client in clients), return_exceptions=True
        )
        served = [a for a in answers if not isinstance(a, BaseException) and a.status == 200]
        assert 1 <= len(served) <= 5  # those of the worker that lives
        await until(lambda: rows.in_flight(waiting) == 0, "empty queue")
