"""`proa serve` does not grow with the requests that it has seen."""

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
from tests.cli.serving import Serving
from tests.gateway.closed_loop import ClosedLoop

from proa.testing.raw_response import json_request

ROUNDS = 10
REQUESTS_A_ROUND = 1200
ABORTS_A_ROUND = 300
GROWTH = 1.10
STREAM = json_request({"model": "fast", "messages": [], "stream": True})


@pytest.fixture
async def engine_url() -> AsyncIterator[str]:
    command = (sys.executable, "-m", "proa.testing.fast_engine", "--rate", "1000", "--events", "50")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()


class Aborts:
    """Clients that leave their stream in its middle, one after another in each of `lanes`."""

    def __init__(self, url: str) -> None:
        self.done = 0
        self._address = urlsplit(url)
        self._target = 0

    async def run(self, count: int, *, lanes: int) -> None:
        self._target = self.done + count
        await asyncio.gather(*(self._lane() for _ in range(lanes)))

    async def _lane(self) -> None:
        loop = asyncio.get_running_loop()
        host, port = str(self._address.hostname), self._address.port or 80
        while self.done < self._target:
            self.done += 1
            ended = loop.create_future()
            await loop.create_connection(lambda e=ended: _Aborting(e), host, port)  # type: ignore[misc]
            await ended


class _Aborting(asyncio.Protocol):
    def __init__(self, ended: asyncio.Future[None]) -> None:
        self._ended = ended
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(STREAM)

    def data_received(self, data: bytes) -> None:
        if b"token" in data:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set_result(None)


async def test_memory_stays_where_it_was_after_a_tenth_of_the_requests(
    engine_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "proa.toml"
    file.write_text(
        '[gateway]\nlisten = "127.0.0.1:0"\n[control]\nlisten = "127.0.0.1:0"\n'
        f'[logs]\npath = "requests.log"\n[[engines]]\nname = "e"\nurl = "{engine_url}"\n'
    )
    number = itertools.count()

    def different() -> bytes:
        """No two heads, texts and ids are alike, and every tenth model does not exist."""
        n = next(number)
        model = "fast" if n % 10 else f"none-{n}"
        body = {"model": model, "messages": [{"role": "user", "content": f"text {n}"}]}
        return json_request(body, f"/v1/chat/completions?n={n}", headers=[("x-n", str(n))])

    async with Serving([str(file)]) as serving:
        (worker,) = await serving.worker_pids()
        aborts = Aborts(serving.url)
        sizes = []
        for _ in range(ROUNDS):
            async with ClosedLoop(serving.url, connections=8, request=different) as load:
                await asyncio.gather(
                    load.answered(REQUESTS_A_ROUND), aborts.run(ABORTS_A_ROUND, lanes=4)
                )
            assert all("model_not_found" in failure for failure in load.failures)
            sizes.append([resident_kib(pid) for pid in (worker, serving.pid)])
        status = await serving.until(lambda s: s["workers"][0]["connections"] == 0)
        assert status["workers"][0]["open_exchanges"] == 0
        assert status["engines"][0]["in_flight"] == 0
    for first, last in zip(sizes[0], sizes[-1], strict=True):
        assert last <= first * GROWTH, sizes


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
