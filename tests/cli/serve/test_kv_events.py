"""The feed of KV events in `proa serve`: from the engine's socket to the status and the metrics."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import zmq
import zmq.asyncio
from tests.cli.serving import Serving

from proa.testing.scripted_engine import ScriptedEngine

BATCH = [
    1.0,
    [
        {"type": "BlockStored", "block_hashes": [1, 2], "block_size": 16, "token_ids": [7] * 32},
        {"type": "BlockRemoved", "block_hashes": [1]},
    ],
    0,
]


@pytest.fixture
async def publisher() -> AsyncIterator[zmq.asyncio.Socket]:
    with zmq.asyncio.Context.instance().socket(zmq.XPUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.bind("tcp://127.0.0.1:*")
        yield socket


async def test_a_feed_is_followed_from_the_start(
    publisher: zmq.asyncio.Socket, tmp_path: Path
) -> None:
    address = publisher.getsockopt_string(zmq.LAST_ENDPOINT)
    async with ScriptedEngine() as engine, asyncio.timeout(60):
        file = tmp_path / "proa.toml"
        file.write_text(
            '[gateway]\nlisten = "127.0.0.1:0"\n[control]\nlisten = "127.0.0.1:0"\n'
            "poll_interval_s = 0.1\n"
            f'[[engines]]\nname = "main"\nurl = "{engine.url}"\nkv_events = "{address}"\n'
        )
        async with Serving([str(file)]) as serving:
            assert await publisher.recv() == b"\x01"
            payload = msgspec.msgpack.encode(BATCH)
            await publisher.send_multipart([b"", (0).to_bytes(8, "big"), payload])
            cache = None
            while cache is None:
                (told,) = (await serving.page("/admin/status")).json()["engines"]
                cache = told["cache"]
            assert cache == {
                "cached_tokens": 16,
                "evicted_tokens_total": 16,
                "cleared_total": 0,
                "lost_total": 0,
            }
            assert await serving.metric('proa_engine_cached_tokens{engine="main"}') == 16
        assert await publisher.recv() == b"\x00"
