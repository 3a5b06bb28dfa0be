"""The benchmark's engine answers well-formed bytes, streams included."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from proa.testing.fast_engine import FastEngine
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import json_request, request_bytes


@pytest.fixture
async def engine_url() -> AsyncIterator[str]:
    engine = FastEngine(rate=5000.0, events=4)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(engine.connection, "127.0.0.1", 0)
    clock = asyncio.create_task(engine.clock.run())
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        clock.cancel()
        server.close()


async def test_answers_streams_and_stats_on_one_connection(engine_url: str) -> None:
    async with RawClient.connect(engine_url) as client:
        await client.send(json_request({"stream": False}))
        assert b"A canned answer" in (await client.read_response()).body.data
        await client.send(json_request({"stream": True}))
        stream = await client.read_response()
        assert stream.body.data.count(b"token ") == 4
        assert stream.body.data.endswith(b"data: [DONE]\n\n")
        await client.send(request_bytes("/stats", method="GET"))
        stats = (await client.read_response()).body.json()
    assert stats == {"requests": 2, "streams": 0, "events": 4}


async def test_control_pages(engine_url: str) -> None:
    async with RawClient.connect(engine_url) as client:
        found = []
        for path in ("/health", "/v1/models", "/other"):
            await client.send(request_bytes(path, method="GET"))
            found.append((await client.read_response()).status)
    assert found == [200, 200, 404]
