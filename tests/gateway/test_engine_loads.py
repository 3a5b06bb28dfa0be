"""What workers make of the control plane's views of the engines' loads."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from tests.gateway.harness import Gateway, serving
from tests.gateway.supervised import settings_for, supervised, until

from proa.domain.fleet import EngineState
from proa.domain.load import CacheView, EngineLoad, EngineLoadView, LoadView
from proa.gateway.messages import ApplyLoads, frame, next_message
from proa.routing.spec import PolicyName, RoutingSpec
from proa.telemetry.rows import Header
from proa.testing.chat import chat_completion
from proa.testing.ports import closed_port
from proa.testing.raw_response import json_request
from proa.testing.replies import json_reply
from proa.testing.scripted_engine import ScriptedEngine
from proa.testing.steps import WaitFor

CHAT = json_request({"model": "scripted", "messages": []})


def idle(name: str, at_s: float) -> EngineLoadView:
    return EngineLoadView(name=name, load=EngineLoad(at_s=at_s, running=0, waiting=0))


def foreign_of(gateway: Gateway) -> list[int]:
    return list(gateway.plane.dispatcher.loads.foreign)


async def test_a_view_reaches_the_choice_and_outlives_routers() -> None:
    async with (
        ScriptedEngine() as one,
        ScriptedEngine() as two,
        serving(one, two) as gateway,
    ):
        router = gateway.plane.dispatcher.router
        gateway.plane.apply_loads(LoadView(4, (EngineLoadView(name="aux", foreign=3),)))
        assert foreign_of(gateway) == [0, 3]
        assert gateway.plane.dispatcher.router is router
        assert gateway.row[Header.LOADS_SEQUENCE] == 4
        gateway.see(states={"main": EngineState.LOADING})
        assert gateway.plane.dispatcher.router is not router
        assert foreign_of(gateway) == [0, 3]


async def test_a_view_that_nobody_follows_up_loses_its_counts_and_keeps_its_caps() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        load = EngineLoad(at_s=gateway.clock(), running=3)
        view = EngineLoadView(name="main", load=load, foreign=3, max_concurrent=8)
        gateway.plane.apply_loads(LoadView(1, (view,), gateway.clock() + 3.0))
        gateway.advance(2.0)
        assert foreign_of(gateway) == [3]
        gateway.advance(2.0)
        assert foreign_of(gateway) == [0]
        (left,) = gateway.plane.dispatcher.loads.views
        assert left == EngineLoadView(name="main", max_concurrent=8)


async def test_a_cache_that_was_cleared_attracts_nobody() -> None:
    long = json_request({"model": "scripted", "messages": [], "prompt": "word " * 4000})
    async with (
        ScriptedEngine() as one,
        ScriptedEngine() as two,
        serving(one, two, routing=RoutingSpec(policy=PolicyName.PREFIX_AFFINITY)) as gateway,
    ):
        for sequence in range(40):
            cleared = max(0, sequence - 20)
            cache = CacheView(cached_tokens=9**9, evicted_tokens_total=0, cleared_total=cleared)
            views = [EngineLoadView(name=name, cache=cache) for name in ("main", "aux")]
            gateway.plane.apply_loads(LoadView(sequence, tuple(views)))
            assert (await gateway.ask(long)).status == 200
            if sequence == 20:
                assert sorted([len(one.requests), len(two.requests)]) == [0, 21]
        assert min(len(one.requests), len(two.requests)) >= 3


@pytest.mark.parametrize("policy", [PolicyName.LEAST_LOAD, PolicyName.POWER_OF_TWO])
@pytest.mark.parametrize("others", ["idle", "unknown"])
async def test_g72_an_engine_whose_last_word_was_idle_attracts_no_crowd(
    policy: PolicyName, others: str
) -> None:
    """One engine's load stands still at zero: own requests in flight decide all the same."""
    gate = asyncio.Event()
    held = json_reply(chat_completion()).preceded_by(WaitFor(gate))
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(ScriptedEngine(lambda _: held))
        two = await stack.enter_async_context(ScriptedEngine(lambda _: held))
        routing = RoutingSpec(policy=policy)
        gateway = await stack.enter_async_context(serving(one, two, routing=routing))
        now_s = gateway.clock()
        views = (idle("main", now_s), *([idle("aux", now_s)] if others == "idle" else []))
        gateway.plane.apply_loads(LoadView(1, views))
        asked = [asyncio.create_task(gateway.ask(CHAT)) for _ in range(100)]
        await gateway.until(lambda: gateway.in_flight("main") + gateway.in_flight("aux") == 100)
        assert 40 <= gateway.in_flight("main") <= 60
        gate.set()
        assert {(await answer).status for answer in asked} == {200}


async def test_g53_a_new_engine_without_metrics_gets_its_share() -> None:
    async with (
        ScriptedEngine() as one,
        ScriptedEngine() as two,
        serving(one, two, routing=RoutingSpec(policy=PolicyName.LEAST_LOAD)) as gateway,
    ):
        gateway.plane.apply_loads(LoadView(1, (idle("main", gateway.clock()),)))
        for _ in range(60):
            assert (await gateway.ask(CHAT)).status == 200
        assert 15 <= len(two.requests) <= 45


async def test_g73_one_engine_of_unknown_load_makes_nobody_wait() -> None:
    async with ScriptedEngine() as engine, serving(engine) as gateway:
        gateway.plane.apply_loads(LoadView(1, (EngineLoadView(name="main"),)))
        answers = await asyncio.gather(*(gateway.ask(CHAT) for _ in range(20)))
        assert {answer.status for answer in answers} == {200}


async def test_g64_a_draining_engine_finishes_and_gets_nothing_new() -> None:
    gate = asyncio.Event()
    held = json_reply(chat_completion()).preceded_by(WaitFor(gate))
    async with (
        ScriptedEngine(lambda _: held) as one,
        ScriptedEngine() as two,
        serving(one, two) as gateway,
    ):
        gateway.see(states={"aux": EngineState.LOADING})
        open_ = asyncio.create_task(gateway.ask(CHAT))
        await gateway.until(lambda: gateway.in_flight("main") == 1)
        gateway.see(states={"main": EngineState.DRAINING})
        for _ in range(10):
            assert (await gateway.ask(CHAT)).status == 200
        assert (len(one.requests), len(two.requests)) == (1, 10)
        gate.set()
        assert (await open_).status == 200


async def test_views_reach_all_workers_and_those_that_come_later() -> None:
    with closed_port() as port:
        urls = [f"http://127.0.0.1:{port}"]
    async with supervised(settings_for(urls, workers=2)) as supervisor:

        def sequences() -> set[int]:
            rows = supervisor.rows.rows
            return {rows[w.index][Header.LOADS_SEQUENCE] for w in supervisor.workers() if w.alive}

        supervisor.publish_loads(LoadView(7, (EngineLoadView(name="e0", foreign=2),), 1e12))
        await until(lambda: sequences() == {7}, "view in both workers")
        before = supervisor.workers()
        await supervisor.reload(settings_for(urls, workers=3))
        await until(lambda: sequences() == {7}, "view in new workers")
        assert {w.pid for w in supervisor.workers() if w.alive} & {w.pid for w in before} == set()


async def test_a_view_survives_the_way_to_a_worker() -> None:
    load = EngineLoad(at_s=1.5, running=0, kv_use=0.25, adapters_running=("a",))
    view = LoadView(3, (EngineLoadView(name="main", load=load, foreign=1, max_concurrent=4),), 9.5)
    reader = asyncio.StreamReader()
    reader.feed_data(frame(ApplyLoads(view)) + frame(ApplyLoads(LoadView(4, ()))))
    reader.feed_eof()
    assert await next_message(reader) == ApplyLoads(view)
    assert await next_message(reader) == ApplyLoads(LoadView(4, ()))
    assert await next_message(reader) is None
