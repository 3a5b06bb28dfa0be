"""An emulated engine on a free port, with a client that sees status, headers and bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
from tests.emulator.profiles import small

from proa.emulator.profile import EngineProfile
from proa.emulator.server import EmulatorServer
from proa.gateway.listeners import address_of, open_listener

UNIX_TIME_S = 1_800_000_000.0
HELLO = [{"role": "user", "content": "Say hello"}]


class Emulated:
    """A running emulator: `ask` it as a client, look at its `server`."""

    def __init__(self, server: EmulatorServer, url: str, client: httpx.AsyncClient) -> None:
        self.server = server
        self.url = url
        self.client = client

    @property
    def scheduler(self) -> Any:
        return self.server.engine.scheduler

    async def get(self, path: str) -> httpx.Response:
        return await self.client.get(path)

    async def post(self, path: str, body: object) -> httpx.Response:
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {"content-type": "application/json"}
        return await self.client.post(path, content=data, headers=headers)

    async def chat(self, **fields: Any) -> httpx.Response:
        body = {"model": self.server.engine.profile.model, "messages": HELLO, "max_tokens": 3}
        return await self.post("/v1/chat/completions", body | fields)

    async def until(self, running: int, waiting: int = 0) -> None:
        """Wait for a state of the scheduler, which changes on this same loop."""
        async with asyncio.timeout(5):
            while (len(self.scheduler.running), len(self.scheduler.waiting)) != (running, waiting):
                await asyncio.sleep(0.001)


@asynccontextmanager
async def emulated(**changes: Any) -> AsyncIterator[Emulated]:
    """An emulator with the small profile, changed."""
    profile: EngineProfile = small(**changes)
    listener = open_listener("127.0.0.1:0")
    url = f"http://{address_of(listener)}"
    server = EmulatorServer(profile, listener, clock=lambda: UNIX_TIME_S)
    await server.start()
    async with httpx.AsyncClient(base_url=url, timeout=10) as client:
        try:
            yield Emulated(server, url, client)
        finally:
            server.close()


def events(response: httpx.Response) -> list[Any]:
    """The events of a stream, `[DONE]` as it is."""
    lines = [line for line in response.text.split("\n") if line]
    assert all(line.startswith("data: ") for line in lines), lines
    datas = [line.removeprefix("data: ") for line in lines]
    return [data if data == "[DONE]" else msgspec.json.decode(data) for data in datas]
