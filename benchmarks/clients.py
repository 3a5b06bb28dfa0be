"""Clients that cost little and check what they get: one request after another, or one stream."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from typing import cast


class WrongAnswer(Exception):
    """An answer that is not what the engines send."""


class Load:
    """What all clients of one load share: counts, and the end."""

    def __init__(self) -> None:
        self.count = 0
        self.reads = 0
        self.stopping = False
        self.open = 0
        self.begun = 0
        self.latencies_ns: list[int] | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended.add_done_callback(_look_at)

    def fail(self, error: Exception) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)

    def closed(self) -> None:
        self.open -= 1
        if not self.open and not self.ended.done():
            self.ended.set_result(None)


def _look_at(ended: asyncio.Future[None]) -> None:
    """Keep asyncio from complaining of a failure that came after the run was stopped."""
    if not ended.cancelled():
        ended.exception()


class Client(asyncio.Protocol):
    """A connection that ends the load if it is lost before its time."""

    transport: asyncio.Transport
    done = False

    def __init__(self, load: Load) -> None:
        self.load = load
        load.open += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.begin()

    def begin(self) -> None:
        """Send the first request."""
        raise NotImplementedError

    def finish(self) -> None:
        self.done = True
        self.transport.close()
        self.load.closed()

    def wrong(self, what: str, data: bytes) -> None:
        self.done = True
        self.transport.abort()
        self.load.fail(WrongAnswer(f"{what}: {data[:300]!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done:
            self.load.fail(WrongAnswer(f"the connection was closed in the middle: {exc}"))


class JsonClient(Client):
    """Sends the next request when the answer to the last one is whole and right."""

    def __init__(self, load: Load, requests: Sequence[bytes], body: bytes) -> None:
        super().__init__(load)
        self._requests = itertools.cycle(requests)
        self._body = body
        self._length = b"content-length: %d\r\n" % len(body)
        self._received = b""
        self._sent_ns = 0

    def begin(self) -> None:
        self._sent_ns = time.perf_counter_ns()
        self.transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        load = self.load
        if self._received:
            data = self._received + data
        if not data.endswith(self._body):
            self._received = data
            if len(data) > 4096 + len(self._body):
                self.wrong("another body", data)
            return
        self._received = b""
        head = data[: -len(self._body)]
        if not (head.startswith(b"HTTP/1.1 200 ") and self._length in head.lower()):
            self.wrong("another head", data)
            return
        if load.latencies_ns is not None:
            load.latencies_ns.append(time.perf_counter_ns() - self._sent_ns)
        load.count += 1
        load.reads += 1
        if load.stopping:
            self.finish()
        else:
            self.begin()


class StreamClient(Client):
    """Reads one stream and counts its events to the last chunk."""

    def __init__(self, load: Load, request: bytes, events: int) -> None:
        super().__init__(load)
        self._request = request
        self._expected = events
        self._begun = False
        self._count = 0
        self._last = b""

    def begin(self) -> None:
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        load = self.load
        count = data.count(b"\n\n") + (self._last.endswith(b"\n") and data.startswith(b"\n"))
        if not self._begun:
            self._begun = True
            if not data.startswith(b"HTTP/1.1 200 "):
                self.wrong("another head", data)
                return
            load.begun += 1
        self._count += count
        load.count += count
        load.reads += 1
        self._last = last = data if len(data) > 64 else self._last[-64:] + data
        if last.endswith(b"\r\n0\r\n\r\n"):
            self._check(last)

    def _check(self, last: bytes) -> None:
        if self._count != self._expected:
            self.wrong(f"{self._count} events in place of {self._expected}", last)
        elif b"data: [DONE]\n\n" not in last:
            self.wrong("no [DONE]", last)
        else:
            self.finish()


async def connect(port: int, client: Client) -> None:
    await asyncio.get_running_loop().create_connection(lambda: client, "127.0.0.1", port)
