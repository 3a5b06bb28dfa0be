"""The subscription, with a real socket that publishes in the same process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
import zmq
import zmq.asyncio
from tests.control.engines import Fleet, MemorySink, spec, vllm

from proa.control.kv_feed import KvFeed
from proa.control.settings import ControlSettings
from proa.domain.fleet import EngineSpec
from proa.domain.load import CacheView
from proa.telemetry.logs import Log

STORED = {
    "type": "BlockStored",
    "block_hashes": [1, 2, 3],
    "parent_block_hash": None,
    "token_ids": [7] * 48,
    "block_size": 16,
    "lora_id": None,
}
REMOVED = {"type": "BlockRemoved", "block_hashes": [1]}


class Publisher:
    """An engine's side; `ready` tells when a subscriber has come."""

    def __init__(self, address: str) -> None:
        self._context = zmq.asyncio.Context.instance()
        self._socket = self._context.socket(zmq.XPUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(address)
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    async def ready(self) -> None:
        async with asyncio.timeout(10):
            assert await self._socket.recv() == b"\x01"

    async def left(self) -> None:
        async with asyncio.timeout(10):
            assert await self._socket.recv() == b"\x00"

    async def publish(self, sequence: int, *events: object) -> None:
        payload = msgspec.msgpack.encode([1.0, events, 0])
        await self.send(b"", sequence.to_bytes(8, "big"), payload)

    async def send(self, *frames: bytes) -> None:
        await self._socket.send_multipart(frames)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["tcp", "ipc"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Publisher]:
    address = "tcp://127.0.0.1:*" if request.param == "tcp" else f"ipc://{tmp_path}/kv"
    publisher = Publisher(address)
    yield publisher
    publisher.close()


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest_asyncio.fixture
async def feed(engine: Publisher, sink: MemorySink) -> AsyncIterator[KvFeed]:
    spec = EngineSpec(name="main", url="http://h:1", kv_events=engine.address)
    feed = KvFeed(spec, Log(sink))
    feed.start()
    await engine.ready()
    yield feed
    await feed.close()


async def seen(feed: KvFeed, condition: Callable[[CacheView], bool]) -> CacheView:
    async with asyncio.timeout(10):
        while (view := feed.track.view) is None or not condition(view):
            await asyncio.sleep(0.005)
    return view


def logged(sink: MemorySink) -> list[tuple[object, ...]]:
    lines = (msgspec.json.decode(line, type=dict[str, object]) for line in sink.lines)
    return [(line["level"], line["engine"], line["message"]) for line in lines]


async def test_what_the_engine_publishes_arrives(
    engine: Publisher, feed: KvFeed, sink: MemorySink
) -> None:
    assert feed.track.view is None
    await engine.publish(0, STORED)
    await engine.publish(1, REMOVED)
    view = await seen(feed, lambda view: view.evicted_tokens_total > 0)
    assert (view.cached_tokens, view.evicted_tokens_total, view.cleared_total) == (32, 16, 0)
    assert logged(sink) == [("info", "main", "engine tells its KV events")]


async def test_gaps_and_bytes_of_something_else_are_told_once(
    engine: Publisher, feed: KvFeed, sink: MemorySink
) -> None:
    await engine.publish(0, STORED)
    await engine.publish(3, STORED)
    await engine.publish(7, STORED)
    await engine.send(b"hello")
    await engine.send(b"hello")
    await engine.send(b"", (8).to_bytes(8, "big"), b"\xc1")
    view = await seen(feed, lambda view: view.lost_total == 3)
    assert (view.cached_tokens, view.cleared_total) == (None, 3)
    lost = "KV events lost: the engine's cache counts as empty"
    assert logged(sink) == [
        ("info", "main", "engine tells its KV events"),
        ("warning", "main", lost),
        ("warning", "main", "not a feed of KV events"),
    ]


async def test_an_engine_that_comes_back_is_followed_again(sink: MemorySink) -> None:
    first = Publisher("tcp://127.0.0.1:*")
    feed = KvFeed(EngineSpec(name="main", url="http://h:1", kv_events=first.address), Log(sink))
    feed.start()
    await first.ready()
    for number in range(3):
        await first.publish(number, STORED)
    await seen(feed, lambda view: view.cached_tokens == 48)
    first.close()
    second = Publisher(first.address)
    await second.ready()
    await second.publish(0, STORED, REMOVED)
    view = await seen(feed, lambda view: view.cleared_total == 1)
    assert (view.cached_tokens, view.evicted_tokens_total, view.lost_total) == (32, 16, 0)
    second.close()
    await feed.close()


async def test_an_address_that_zeromq_refuses_is_told(sink: MemorySink) -> None:
    spec = EngineSpec(name="main", url="http://h:1", kv_events="tcp://not a host:x")
    feed = KvFeed(spec, Log(sink))
    feed.start()
    async with asyncio.timeout(10):
        while not sink.lines:
            await asyncio.sleep(0.005)
    assert logged(sink) == [("error", "main", "KV events cannot be followed")]
    await feed.close()


async def test_without_an_address_nothing_is_followed(sink: MemorySink) -> None:
    feed = KvFeed(EngineSpec(name="main", url="http://h:1"), Log(sink))
    feed.start()
    await feed.close()
    assert (feed.track.view, sink.lines) == (None, [])


async def test_the_registry_follows_publishes_and_leaves(engine: Publisher) -> None:
    followed = EngineSpec(name="a", url="http://a:8000", kv_events=engine.address)
    fleet = Fleet({"a": vllm("m"), "b": vllm("m")}, followed, spec("b"))
    fleet.registry.start()
    await engine.ready()
    await engine.publish(0, STORED, REMOVED)
    told = CacheView(cached_tokens=32, evicted_tokens_total=16, cleared_total=0)
    async with asyncio.timeout(10):
        while not any(view.engines[0].cache == told for view in fleet.audience.loads):
            fleet.registry.refresh_loads()
            await asyncio.sleep(0.005)
    assert fleet.registry.loads.engines[1].cache is None
    fleet.registry.reload(ControlSettings(engines=(spec("a"), spec("b"))))
    assert fleet.registry.loads.engines[0].cache is None
    await engine.left()
    await fleet.registry.close()
