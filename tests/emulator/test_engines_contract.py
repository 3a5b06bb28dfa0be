"""proa's own adapters read an emulated engine as they read a real one."""

import asyncio
from typing import Any

import pytest
from tests.emulator.emulated import Emulated, emulated

from proa.domain.outcome import Outcome
from proa.emulator.profile import EMULATED_KINDS
from proa.engines.adapters import ADAPTERS
from proa.engines.base import Health
from proa.engines.sources import Probe, Reply, merged_facts, merged_load

KINDS = [pytest.param(kind, id=kind.value) for kind in EMULATED_KINDS]


async def replied(engine: Emulated, probe: Probe) -> Reply:
    answer = await engine.client.request(probe.method, probe.path, content=probe.body)
    return Reply(answer.status_code, answer.content)


@pytest.mark.parametrize("kind", KINDS)
async def test_health_and_models(kind: Any) -> None:
    adapter = ADAPTERS[kind]
    async with emulated(kind=kind) as engine:
        health = adapter.health(await replied(engine, adapter.health_probe))
        models = adapter.models(await replied(engine, adapter.models_probe))
    assert health is Health.UP
    assert models is not None
    assert [model.id for model in models] == ["tiny"]


@pytest.mark.parametrize("kind", KINDS)
async def test_load(kind: Any) -> None:
    adapter = ADAPTERS[kind]
    async with emulated(kind=kind, max_running=2, step_base_ms=20.0) as engine:
        tasks = [asyncio.create_task(engine.chat(max_tokens=200)) for _ in range(3)]
        await engine.until(running=2, waiting=1)
        parts = []
        for group in adapter.load_groups:
            for source in group:
                reply = await replied(engine, source.probe)
                load = source.read(reply.body, 7.0) if reply.status == 200 else None
                if load is not None:
                    parts.append(load)
                    break
        for task in tasks:
            task.cancel()
    load = merged_load(parts)
    assert load is not None
    assert (load.running, load.waiting) == (2, 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_facts(kind: Any) -> None:
    adapter = ADAPTERS[kind]
    async with emulated(kind=kind) as engine:
        told = [
            source.read((await replied(engine, source.probe)).body)
            for source in adapter.fact_sources
        ]
    facts = merged_facts([part for part in told if part is not None])
    assert facts.version


@pytest.mark.parametrize("kind", KINDS)
async def test_token_counts(kind: Any) -> None:
    count = ADAPTERS[kind].token_count
    if count is None:
        pytest.skip("this kind counts no tokens")
    async with emulated(kind=kind) as engine:
        reply = await replied(engine, count.probe("tiny", "x" * 40))
    assert count.read(reply.body) == 10


@pytest.mark.parametrize("kind", KINDS)
async def test_outcomes(kind: Any) -> None:
    adapter = ADAPTERS[kind]
    async with emulated(kind=kind, max_queued=1, max_running=1, step_base_ms=20.0) as engine:
        broken = await engine.post("/v1/chat/completions", b"{")
        tasks = [asyncio.create_task(engine.chat(max_tokens=200)) for _ in range(2)]
        async with asyncio.timeout(5):
            while engine.scheduler.takes_more:
                await asyncio.sleep(0.001)
        busy = await engine.chat()
        for task in tasks:
            task.cancel()
    assert adapter.outcome(broken.status_code, broken.content) is Outcome.CLIENT_FAULT
    moves_on = (Outcome.BUSY, Outcome.NOT_READY)  # llama.cpp's "no slot" reads as the latter
    assert adapter.outcome(busy.status_code, busy.content) in moves_on
