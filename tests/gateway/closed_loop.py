"""Load that counts every failure: each connection sends the next request after an answer.

async with ClosedLoop(url, connections=16) as load:
    await load.answered(1000)
assert load.failures == []
"""

import asyncio
import re
from collections.abc import Callable
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlsplit

from proa.testing.raw_response import json_request

CHAT = json_request({"model": "scripted", "messages": [{"role": "user", "content": "hi"}]})
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n")
_WITHIN_S = 30.0


class ClosedLoop:
    """Connections that never rest, or send a request each `1 / rate` seconds together.

    `ok` counts answers with status 200; anything else, a connection that ends without
    having said `connection: close` included, is told in `failures`. A connection that
    did say so is made anew.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int,
        rate: float = 0.0,
        request: bytes | Callable[[], bytes] = CHAT,
    ) -> None:
        self.ok = 0
        self.failures: list[str] = []
        self.reconnects = 0
        self._request = request
        self.sent = 0
        self._connections = connections
        self._interval_s = connections / rate if rate else 0.0
        self._loop = asyncio.get_running_loop()
        self._url = url
        self._open: set[_Client] = set()
        self._dialling: set[asyncio.Task[None]] = set()
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._stopping = False

    async def __aenter__(self) -> Self:
        for number in range(self._connections):
            self._dial(self._interval_s * number / self._connections)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let each connection get its last answer, unless something failed."""
        await self.stop(wait=error is None)

    async def stop(self, *, wait: bool = True) -> None:
        """Send no more; with `wait` all that was sent is answered first."""
        self._stopping = True
        if wait:
            await self.until(lambda: not any(c.is_waiting for c in self._open))
        for task in self._dialling:
            task.cancel()
        for client in tuple(self._open):
            client.transport.abort()

    async def answered(self, count: int) -> None:
        """Wait for so many more answers or failures."""
        target = self.ok + len(self.failures) + count
        await self.until(lambda: self.ok + len(self.failures) >= target)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition, looked at after each answer."""
        if condition():
            return
        waiter = self._loop.create_future()
        self._waiters.append((condition, waiter))
        async with asyncio.timeout(_WITHIN_S):
            await waiter

    def next_request(self) -> bytes:
        """What to send now; empty when no more is to be sent."""
        if self._stopping:
            return b""
        self.sent += 1
        return self._request if isinstance(self._request, bytes) else self._request()

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        self._loop.call_later(seconds, what)

    @property
    def interval_s(self) -> float:
        return self._interval_s

    def opened(self, client: "_Client") -> None:
        self._open.add(client)

    def closed(self, client: "_Client", failure: str) -> None:
        self._open.discard(client)
        if failure and not self._stopping:
            self.failures.append(failure)
        if not self._stopping:
            self.reconnects += 1
            self._dial(0.0)
        self.changed()

    def changed(self) -> None:
        for condition, waiter in self._waiters:
            if not waiter.done() and condition():
                waiter.set_result(None)

    def _dial(self, delay_s: float) -> None:
        task = self._loop.create_task(self._connect(delay_s))
        self._dialling.add(task)
        task.add_done_callback(self._dialling.discard)

    async def _connect(self, delay_s: float) -> None:
        parts = urlsplit(self._url)
        await asyncio.sleep(delay_s)
        try:
            if parts.scheme == "unix":
                await self._loop.create_unix_connection(lambda: _Client(self), parts.path)
            else:
                await self._loop.create_connection(
                    lambda: _Client(self), str(parts.hostname), parts.port or 80
                )
        except OSError as error:
            self.failures.append(f"connect: {error}")
            self.changed()


class _Client(asyncio.Protocol):
    def __init__(self, load: ClosedLoop) -> None:
        self._load = load
        self._buffer = b""
        self.is_waiting = False
        self._told_to_close = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._load.opened(self)
        self._next()

    def _next(self) -> None:
        if not self.transport.is_closing() and (request := self._load.next_request()):
            self.is_waiting = True
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head_end = self._buffer.find(b"\r\n\r\n") + 4
        if head_end == 3:
            return
        head = self._buffer[:head_end]
        length = _LENGTH.search(head)
        assert length is not None, head
        if len(self._buffer) < head_end + int(length[1]):
            return
        load = self._load
        if head.startswith(b"HTTP/1.1 200 "):
            load.ok += 1
        else:
            load.failures.append(self._buffer.decode("utf-8", "replace"))
        self._buffer = b""
        self.is_waiting = False
        if b"\r\nconnection: close\r\n" in head:
            self._told_to_close = True
            self.transport.close()
        elif load.interval_s:
            load.after(load.interval_s, self._next)
        else:
            self._next()
        load.changed()

    def connection_lost(self, exc: Exception | None) -> None:
        failure = f"ended while waiting: {exc!r}" if self.is_waiting else ""
        self.is_waiting = False
        self._load.closed(self, failure)
