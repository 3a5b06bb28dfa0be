"""The supervisor with real workers: clients spread, counts shared, workers replaced."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.gateway.closed_loop import CHAT, ClosedLoop
from tests.gateway.supervised import (
    all_ready,
    requests_by_worker,
    settings_for,
    supervised,
    until,
    url_of,
)

from proa.domain.outcome import Outcome
from proa.errors import InputError, OwnFault
from proa.gateway.settings import KeySpec, LimitsSettings, TlsSettings
from proa.gateway.supervisor import Supervisor
from proa.telemetry.rows import Engine, Header, engine_base
from proa.testing.chat import chat_completion
from proa.testing.ports import closed_port
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import Reply, WaitFor

STREAM = json_request({"model": "scripted", "messages": [], "stream": True})
ROUNDS = 10


def held(gate: asyncio.Event) -> Reply:
    """An answer that is complete once the gate is open."""
    return json_reply(chat_completion()).preceded_by(WaitFor(gate))


async def clients(stack: AsyncExitStack, url: str, count: int) -> list[RawClient]:
    """Connections with nothing sent yet."""
    opened = [RawClient.connect(url, timeout_s=20) for _ in range(count)]
    return [await stack.enter_async_context(client) for client in opened]


def in_flight(supervisor: Supervisor) -> list[int]:
    slots = supervisor.engine_slots.values()
    return [supervisor.rows.engine_in_flight(slot) for slot in slots]


async def test_few_long_lived_connections_starve_no_worker() -> None:
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ScriptedEngine())
        settings = settings_for([engine.url], workers=2)
        supervisor = await stack.enter_async_context(supervised(settings))
        before = requests_by_worker(supervisor)
        for _ in range(ROUNDS):
            async with ClosedLoop(url_of(supervisor), connections=16) as load:
                await load.answered(400)
                rows = [supervisor.rows.rows[worker.index] for worker in supervisor.workers()]
                held = [row[Header.CONNECTIONS] for row in rows]
            assert load.failures == []
            assert sum(held) == 16
            assert min(held) >= 16 / 3
            counted = sum(before.values()) + load.sent
            await until(
                lambda: sum(requests_by_worker(supervisor).values()) == counted,  # noqa: B023
                "count of all requests",
            )
            now = requests_by_worker(supervisor)
            shares = [now[pid] - before[pid] for pid in before]
            assert len(shares) == 2
            assert min(shares) >= load.sent / 5  # a worker may also get less of the processors
            await until(lambda: not connections(supervisor), "end of the connections")
            before = now


def connections(supervisor: Supervisor) -> int:
    return supervisor.rows.in_flight(Header.CONNECTIONS)


async def test_all_workers_see_each_others_requests_and_a_keys_cap_is_one_for_all() -> None:
    gate = asyncio.Event()
    key = KeySpec(name="k", digest=sha256(b"secret").digest(), max_concurrent_requests=20)
    request = json_request(
        {"model": "scripted", "messages": []}, headers=[("authorization", "Bearer secret")]
    )
    async with AsyncExitStack() as stack:
        engines = [
            await stack.enter_async_context(ScriptedEngine(lambda _: held(gate))) for _ in range(2)
        ]
        settings = settings_for([engine.url for engine in engines], workers=2, keys=(key,))
        supervisor = await stack.enter_async_context(supervised(settings))
        # one after the other: exact
        opened = await clients(stack, url_of(supervisor), 24)
        for number, client in enumerate(opened[:10], start=1):
            await client.send(request)
            await until(lambda n=number: sum(in_flight(supervisor)) == n, "dispatch")  # type: ignore[misc]
        assert in_flight(supervisor) == [5, 5]
        # at once: every worker may have missed one choice of every other
        await asyncio.gather(*(client.send(request) for client in opened[10:]))
        refused = Header.REFUSED_KEY_CAP
        await until(
            lambda: sum(in_flight(supervisor)) + supervisor.rows.total(refused) == 24,
            "decision on every request",
        )
        loads = in_flight(supervisor)
        assert 20 <= sum(loads) <= 21
        assert abs(loads[0] - loads[1]) <= 2
        gate.set()
        answers = await asyncio.gather(*(client.read_response() for client in opened))
        statuses = [answer.status for answer in answers]
        assert statuses[:10] == [200] * 10
        assert 3 <= statuses.count(429) <= 4
        await until(lambda: in_flight(supervisor) == [0, 0], "end of all requests")
        await opened[0].send(request)
        assert (await opened[0].read_response()).status == 200


async def test_a_killed_worker_is_replaced_and_disturbs_no_other() -> None:
    async with ScriptedEngine() as engine:
        settings = settings_for([engine.url], workers=2)
        async with supervised(settings) as supervisor:
            outcome_ok = engine_base(0) + Engine.OUTCOME + Outcome.OK
            async with ClosedLoop(url_of(supervisor), connections=8) as load:
                await load.answered(200)
                victim, other = supervisor.workers()
                row = supervisor.rows.rows[victim.index]
                lost = row[Header.CONNECTIONS]
                assert 3 <= lost <= 5  # open requests had a say in who got a connection, too
                counted = supervisor.rows.total(outcome_ok)
                os.kill(victim.pid, signal.SIGKILL)
                await until(lambda: victim.pid not in pids(supervisor), "end of the worker")
                assert row[Header.PID] in (0, *pids(supervisor))
                assert supervisor.rows.total(outcome_ok) >= counted
                await until(lambda: len(requests_by_worker(supervisor)) == 2, "another worker")
                await load.answered(200)
            assert 0 < len(load.failures) <= lost
            assert all(text.startswith("ended while waiting") for text in load.failures)
            assert supervisor.worker_restarts == 1
            await until(lambda: in_flight(supervisor) == [0], "end of all requests")
            assert other.pid in pids(supervisor)


def pids(supervisor: Supervisor) -> list[int]:
    return [worker.pid for worker in supervisor.workers()]


async def test_clients_that_a_dead_worker_never_fetched_go_to_another() -> None:
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ScriptedEngine())
        settings = settings_for([engine.url], workers=2)
        supervisor = await stack.enter_async_context(supervised(settings))
        crew = supervisor._crew
        assert crew is not None
        stopped = crew.workers[0].pid
        os.kill(stopped, signal.SIGSTOP)
        opened = await clients(stack, url_of(supervisor), 8)
        for client in opened:
            await client.send(CHAT)
        answers = [asyncio.create_task(client.read_response()) for client in opened]
        stuck = sum(worker.handed for worker in crew.workers if worker.pid == stopped)
        assert 0 < stuck < 8
        await until(lambda: sum(task.done() for task in answers) == 8 - stuck, "other answers")
        os.kill(stopped, signal.SIGKILL)
        assert [answer.status for answer in await asyncio.gather(*answers)] == [200] * 8


async def test_a_worker_that_keeps_ending_is_started_ever_more_seldom() -> None:
    loop = asyncio.get_running_loop()
    async with ScriptedEngine() as engine, supervised(settings_for([engine.url])) as supervisor:
        began_s = loop.time()
        for restarts in range(1, 4):
            (pid,) = pids(supervisor)
            os.kill(pid, signal.SIGKILL)
            await until(
                lambda n=restarts: (
                    supervisor.worker_restarts == n  # type: ignore[misc]
                    and bool(requests_by_worker(supervisor))
                ),
                "another worker",
            )
        assert loop.time() - began_s >= 0.1 + 0.2 + 0.5
        async with RawClient.connect(url_of(supervisor)) as client:
            await client.send(CHAT)
            assert (await client.read_response()).status == 200


@pytest.mark.parametrize("workers", [1, 2])
async def test_workers_that_cannot_start_are_an_error_and_not_waited_for(
    tmp_path: Path, workers: int
) -> None:
    tls = TlsSettings(cert_file=str(tmp_path / "none"), key_file=str(tmp_path / "none"))
    with pytest.raises(OwnFault, match="no worker process came up"):
        async with supervised(settings_for([], workers=workers, tls=tls)):
            raise AssertionError("it came up")


async def test_a_reload_that_cannot_work_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with ScriptedEngine() as engine:
        settings = settings_for([engine.url])
        async with (
            supervised(settings) as supervisor,
            ClosedLoop(url_of(supervisor), connections=4) as load,
        ):
            before = (supervisor.addresses, pids(supervisor), supervisor.generation)
            tls = TlsSettings(cert_file=str(tmp_path / "none"), key_file=str(tmp_path / "none"))
            for worse, error in (
                (msgspec.structs.replace(settings, workers=2, tls=tls), OwnFault),
                (msgspec.structs.replace(settings, listen="192.0.2.1:1"), InputError),
            ):
                with pytest.raises(error):
                    await supervisor.reload(worse)
                assert (supervisor.addresses, pids(supervisor), supervisor.generation) == before
                assert supervisor.settings is settings
            await load.answered(50)
        assert load.failures == []


@pytest.mark.parametrize("workers", [1, 2])
async def test_settings_that_workers_cannot_take_are_told_at_once(
    tmp_path: Path, workers: int
) -> None:
    async with ScriptedEngine() as engine:
        settings = settings_for([engine.url], workers=workers)
        async with supervised(settings) as supervisor, asyncio.timeout(10):
            gone = str(tmp_path / "none")
            tls = TlsSettings(cert_file=gone, key_file=gone)
            told = await supervisor.reload(msgspec.structs.replace(settings, tls=tls))
            assert len(told) == workers
            assert all("keeps generation 1: " in line and "No such file" in line for line in told)
            assert all("No such file" in worker.refused for worker in supervisor.workers())
            assert await supervisor.reload(settings) == ()
            assert [worker.refused for worker in supervisor.workers()] == [""] * workers
            assert {worker.generation for worker in supervisor.workers()} == {3}


async def test_an_engine_that_gets_the_cells_of_another_begins_at_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proa.gateway.supervisor.MAX_ENGINES", 1)
    outcome_ok = engine_base(0) + Engine.OUTCOME + Outcome.OK
    async with ScriptedEngine() as engine:
        first = settings_for([engine.url], workers=2)
        other = msgspec.structs.replace(first.engines[0], name="other")
        second = msgspec.structs.replace(first, engines=(other,))
        async with supervised(first) as supervisor:
            async with ClosedLoop(url_of(supervisor), connections=4) as load:
                await load.answered(50)
            await until(lambda: supervisor.rows.total(outcome_ok) == load.ok, "count of all")
            with pytest.raises(InputError, match="no room for more engines: 1 with those"):
                await supervisor.reload(second)
            soon = LimitsSettings(total_timeout_s=1e-9)  # no request may last longer
            await supervisor.reload(msgspec.structs.replace(first, engines=(), limits=soon))
            await supervisor.reload(msgspec.structs.replace(second, limits=soon))
            assert await supervisor.reload(second) == ()
            supervisor.publish(all_ready(second, 2))
            assert supervisor.engine_slots == {"other": 0}
            assert supervisor.rows.total(outcome_ok) == 0
            async with ClosedLoop(url_of(supervisor), connections=4) as load:
                await load.answered(50)
            assert load.failures == []
            await until(lambda: supervisor.rows.total(outcome_ok) == load.ok, "count of all")


async def test_more_and_fewer_workers_and_another_address_without_a_failed_request() -> None:
    async with ScriptedEngine() as engine:
        settings = settings_for([engine.url])
        async with supervised(settings) as supervisor:
            old_url = url_of(supervisor)
            async with ClosedLoop(old_url, connections=8) as load:
                for workers in (2, 3, 1):
                    await supervisor.reload(msgspec.structs.replace(settings, workers=workers))
                    await load.answered(100)
                    assert len(requests_by_worker(supervisor)) == workers
                assert load.reconnects >= 24
            assert load.failures == []
            async with ClosedLoop(old_url, connections=8, rate=100) as load:
                await load.answered(10)
                moved = msgspec.structs.replace(
                    settings, listen="127.0.0.1:0", limits=LimitsSettings(linger_s=0.5)
                )
                # port 0 again is no other address: name one
                with closed_port() as port:
                    pass
                await supervisor.reload(msgspec.structs.replace(moved, listen=f"127.0.0.1:{port}"))
                async with ClosedLoop(url_of(supervisor), connections=2) as there:
                    await there.answered(20)
                assert there.failures == []
                await load.until(lambda: bool(load.failures))
            assert set(map(refused, load.failures)) == {True}
            await until(lambda: len(pids(supervisor)) == 1, "end of the old worker")


def refused(failure: str) -> bool:
    """By the kernel: it also resets who is in the backlog at the moment a listener closes."""
    return "refused" in failure or "ConnectionResetError" in failure
