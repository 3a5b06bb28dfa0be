"""One real engine behind `proa serve`, which is told its address and hardly more."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import openai
from tests.cli.serving import Serving

from proa.domain.load import EngineLoad
from proa.engines.sources import LoadSource
from proa.providers.local import LocalProcess
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import RawHead, json_request

PATIENCE_S = 90  # these run at the lowest priority
START_WITHIN_S = 1200  # a minute on an idle machine
MESSAGES: Any = [{"role": "user", "content": "Count from one to fifty."}]
CHAT = {"model": "tiny", "messages": MESSAGES, "max_tokens": 8, "ignore_eos": True}
LONG = CHAT | {"max_tokens": 1900}
WRONG = CHAT | {"temperature": -5}
TOO_LONG = CHAT | {"messages": [{"role": "user", "content": "word " * 4000}]}
SETTINGS = """
[gateway]
listen = "127.0.0.1:0"
[control]
listen = "127.0.0.1:0"
poll_interval_s = 0.2
[limits]
linger_s = 0.2
[breaker]
slow_start_s = 0.1
[[engines]]
name = "engine"
"""


@dataclass
class Behind:
    """`url` is the engine's own, `source` where it tells its load."""

    serving: Serving
    process: LocalProcess
    url: str
    source: LoadSource

    def openai(self) -> openai.AsyncOpenAI:
        """The official client, which tries nothing twice."""
        return openai.AsyncOpenAI(
            base_url=f"{self.serving.url}/v1", api_key="any", max_retries=0, timeout=PATIENCE_S
        )

    async def post(
        self, value: object, path: str = "/v1/chat/completions", *, url: str = ""
    ) -> httpx.Response:
        """To the gateway, or to `url`."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            return await client.post((url or self.serving.url) + path, json=value)

    async def head_of(self, value: object) -> RawHead:
        """The head of the gateway's answer, as it is on the wire."""
        async with RawClient.connect(self.serving.url, timeout_s=PATIENCE_S) as client:
            await client.send(json_request(value))
            return await client.read_head()

    async def load(self) -> EngineLoad:
        """What the engine itself says, read as proa reads it."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            page = await client.get(self.url + self.source.probe.path)
        load = self.source.read(page.content, time.monotonic())
        assert load is not None, page.text[:500]
        return load

    async def until_load(self, condition: Callable[[EngineLoad], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition(await self.load()):
                await asyncio.sleep(0.02)

    async def engine(self) -> dict[str, Any]:
        """What the control plane says of it."""
        return await self.until(lambda engine: True)

    async def until(
        self, condition: Callable[[dict[str, Any]], bool], *, within_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Wait until the control plane sees it so."""
        async with asyncio.timeout(within_s):
            while True:
                page = await self.serving.page("/admin/status")
                (engine,) = page.json()["engines"]
                if condition(engine):
                    return dict(engine)
                await asyncio.sleep(0.1)

    async def until_counts(self, *, running: int, waiting: int) -> dict[str, Any]:
        """Wait until the control plane has seen so many requests in it."""
        wanted = {"running": running, "waiting": waiting}
        return await self.until(lambda at: wanted.items() <= (at["load"] or {}).items())

    async def metric(self, name: str) -> float:
        """The gateway's metric of the engine."""
        return await self.serving.metric(f'{name}{{engine="engine"}}')

    async def is_idle(self) -> None:
        """Before a test that counts: nobody else is there."""
        await self.until(lambda engine: engine["state"] == "ready")
        await self.until_load(lambda load: (load.running, load.waiting) == (0, 0))

    @asynccontextmanager
    async def filled(self, count: int) -> AsyncIterator[None]:
        """The engine has so many long requests of others, running or waiting."""
        tasks: list[asyncio.Task[httpx.Response]] = []
        try:
            for number in range(
                1, count + 1
            ):  # at once they would overflow an empty engine's queue
                tasks.append(asyncio.create_task(self.post(LONG, url=self.url)))
                await self.until_load(partial(holds, number))
            yield
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def freed_after_s(self, *, stream: bool) -> tuple[float, float]:
        """How long the engine goes on with a request after proa's client left.

        When it was last seen at it, and when it was first seen without: on a busy machine
        each look takes long.
        """
        await self.is_idle()
        async with RawClient.connect(self.serving.url, timeout_s=PATIENCE_S) as client:
            await client.send(json_request(LONG | {"stream": stream}))
            if stream:
                await client.read_until(b'"content":"')
            await self.until_load(lambda load: load.running == 1)
        left_s = asked_s = last_s = time.monotonic()
        async with asyncio.timeout(PATIENCE_S):
            while (await self.load()).running:
                last_s, asked_s = asked_s, time.monotonic()
        return last_s - left_s, time.monotonic() - left_s


@asynccontextmanager
async def behind(
    process: LocalProcess, url: str, source: LoadSource, keys: str = ""
) -> AsyncIterator[Behind]:
    """Start the gateway first: it watches the engine load. `keys` are more of its table."""
    file = process.spec.log_path.with_suffix(".toml")
    file.write_text(f'{SETTINGS}url = "{url}"\n{keys}')
    async with Serving([str(file)]) as serving:
        try:
            yield Behind(serving, process, url, source)
        finally:
            await process.stop()


def holds(count: int, load: EngineLoad) -> bool:
    """Whether so many requests are in the engine, running or waiting."""
    return (load.running or 0) + (load.waiting or 0) == count
