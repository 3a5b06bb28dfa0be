"""Connections to one target: opened before the load, one for each exchange in flight.

Nothing that was answered in any way is sent twice. A request that finds no free connection
waits for a new one, and its time counts from its turn on.
"""

import asyncio
import ssl
import time
from collections import deque

from proa.bench.arrival_clock import ArrivalClock
from proa.bench.connection import ClientConnection, OnEnd, opened
from proa.bench.raw import RawEnd, RawExchange
from proa.bench.target import TargetSpec, address_of, post_head, tls_context

_AT_ONCE = 64  # connections that are opened at the same time
_CONNECT_TIMEOUT_S = 10.0
_Waiting = tuple[RawExchange, bytes, OnEnd]


class TargetClient:
    """Sends exchanges to one target; `max_connections` is for a client that is held back.

    `clock` is the process's own, where several clients share it.
    """

    def __init__(
        self,
        target: TargetSpec,
        *,
        clock: ArrivalClock | None = None,
        max_connections: int | None = None,
    ) -> None:
        self.late_connects = 0
        """Connections that a request had to wait for."""
        self._clock = clock or ArrivalClock()
        self._address = address_of(target.url)
        self._tls: ssl.SSLContext | None = tls_context(target)
        self._head = post_head(target)
        self._max = max_connections
        self._idle: list[ClientConnection] = []
        self._all: set[ClientConnection] = set()
        self._waiting: deque[_Waiting] = deque()
        self._opening: set[asyncio.Task[None]] = set()

    @property
    def on_wire(self) -> int:
        """Exchanges that a connection carries now."""
        return sum(connection.raw is not None for connection in self._all)

    @property
    def idle(self) -> int:
        """Open connections that carry nothing."""
        return sum(connection.is_open for connection in self._idle)

    def oldest_sent_s(self) -> float | None:
        """When the oldest exchange in flight was sent, those that wait included."""
        carried = [c.raw.sent_s for c in self._all if c.raw is not None]
        carried += [waiting[0].sent_s for waiting in self._waiting]
        return min(carried, default=None)

    async def open(self, count: int) -> None:
        """Open so many connections before the load.

        Raises:
            OSError: the target takes no connection.
        """
        wanted = count if self._max is None else min(count, self._max)
        for begin in range(0, wanted, _AT_ONCE):
            batch = range(begin, min(begin + _AT_ONCE, wanted))
            self._idle += await asyncio.gather(*(self._connect() for _ in batch))

    def send(self, raw: RawExchange, body: bytes, on_end: OnEnd) -> None:
        """Send a body now, or as soon as there is a connection for it."""
        request = b"%b%d\r\n\r\n%b" % (self._head, len(body), body)
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                connection.begin(raw, request, on_end)
                return
        self._waiting.append((raw, request, on_end))
        self._open_for_waiting()

    def end_older(self, sent_before_s: float, text: str) -> None:
        """End what was sent before then and has no end yet: timeouts."""
        for connection in list(self._all):
            if connection.raw is not None and connection.raw.sent_s < sent_before_s:
                connection.give_up(RawEnd.TIMEOUT, text)
        while self._waiting and self._waiting[0][0].sent_s < sent_before_s:
            self._refuse(self._waiting.popleft(), RawEnd.TIMEOUT, text)

    def stop(self) -> None:
        """End all exchanges as stopped, and close every connection."""
        while self._waiting:
            self._refuse(self._waiting.popleft(), RawEnd.STOPPED, "")
        for task in self._opening:
            task.cancel()
        for connection in list(self._all):
            connection.give_up(RawEnd.STOPPED, "")
        self._all.clear()
        self._idle.clear()

    def freed(self, connection: ClientConnection) -> None:
        """Called by a connection whose answer is whole."""
        if self._waiting:
            connection.begin(*self._waiting.popleft())
        else:
            self._idle.append(connection)

    def lost(self, connection: ClientConnection) -> None:
        """Called by a connection that is closed."""
        self._all.discard(connection)
        if self._waiting:
            self._open_for_waiting()

    def unserved(self, raw: RawExchange, request: bytes, on_end: OnEnd) -> None:
        """Of a kept connection that closed without a byte: goes out on a new one.

        A server may close an idle connection at any time, also while a request is on its way
        (RFC 9112, 9.3.1); llama.cpp does so after each second answer. The time of the request
        counts from its turn on all the same.
        """
        self._waiting.appendleft((raw, request, on_end))
        self._open_for_waiting()

    def _open_for_waiting(self) -> None:
        if self._max is not None and len(self._all) + len(self._opening) >= self._max:
            return
        if len(self._opening) >= min(_AT_ONCE, len(self._waiting)):
            return
        self.late_connects += 1
        task = asyncio.get_running_loop().create_task(self._open_one())
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open_one(self) -> None:
        try:
            connection = await self._connect()
        except OSError as error:
            if self._waiting:
                self._refuse(self._waiting.popleft(), RawEnd.CONNECT, str(error))
        else:
            self.freed(connection)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._open_for_waiting)

    async def _connect(self) -> ClientConnection:
        async with asyncio.timeout(_CONNECT_TIMEOUT_S):
            connection = await opened(self, self._address, self._tls, self._clock)
        self._all.add(connection)
        return connection

    def _refuse(self, waiting: _Waiting, end: RawEnd, text: str) -> None:
        raw, _, on_end = waiting
        raw.end, raw.ended_s, raw.text = end, time.monotonic(), text
        on_end(raw)
