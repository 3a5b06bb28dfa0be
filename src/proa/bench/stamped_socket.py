"""A plain TCP connection whose reads carry their time of arrival, and whose writes go out at once.

asyncio's transports hold what is written back until the loop has gone round, and do not ask
the kernel for times; a load generator's stamps need both.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

from proa.bench.arrival_clock import ANCILLARY_BYTES, ArrivalClock

_READ_BYTES = 1 << 16
_BACKLOG = 4096


class Wire(Protocol):
    """What a connection's owner does with it: a `StampedSocket`, or a transport with TLS."""

    def write(self, data: bytes) -> None:
        """Send, now if the socket takes it."""

    def close(self) -> None:
        """Close it."""

    def abort(self) -> None:
        """Close it; what was not yet sent is dropped."""


class Peer(Protocol):
    """Who reads from a `StampedSocket`."""

    def connection_made(self, wire: Wire, /) -> None:
        """It is open."""

    def arrived(self, data: bytes, at_s: float) -> None:
        """These bytes were read, the last of which arrived then."""

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed; told once, and not from within a call of its owner's."""


class StampedSocket:
    """Takes over a connected socket; `close` and `abort` are the same."""

    def __init__(self, connected: socket.socket, peer: Peer, clock: ArrivalClock) -> None:
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        clock.watch(connected)
        self._socket = connected
        self._peer = peer
        self._arrived_s = clock.arrived_s
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._unsent = b""
        peer.connection_made(self)
        self._loop.add_reader(connected, self._readable)

    def write(self, data: bytes) -> None:
        if self._unsent:
            self._unsent += data
        elif self._is_open:
            self._send(data)

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        self._lose(None)

    def _readable(self) -> None:
        if not self._is_open:
            return
        try:
            data, ancillary, _, _ = self._socket.recvmsg(_READ_BYTES, ANCILLARY_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(error)
            return
        if data:
            self._peer.arrived(data, self._arrived_s(ancillary))
        else:
            self._lose(None)

    def _send(self, data: bytes) -> None:
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            self._lose(error)
            return
        if sent < len(data):
            if not self._unsent:
                self._loop.add_writer(self._socket, self._writable)
            self._unsent = data[sent:]
        elif self._unsent:
            self._unsent = b""
            self._loop.remove_writer(self._socket)

    def _writable(self) -> None:
        if self._is_open:
            self._send(self._unsent)

    def _lose(self, error: Exception | None) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._socket)
        if self._unsent:
            self._unsent = b""
            self._loop.remove_writer(self._socket)
        self._socket.close()
        self._loop.call_soon(self._peer.connection_lost, error)


class StampedListener:
    """Accepts for peers that `make` makes."""

    def __init__(self, host: str, port: int, make: Callable[[], Peer]) -> None:
        """Raises OSError: the address cannot be taken."""
        self._make = make
        self._clock = ArrivalClock()
        self._open: WeakSet[StampedSocket] = WeakSet()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._accept)

    def close(self) -> None:
        """Close it, and every connection."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for each in list(self._open):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            self._open.add(StampedSocket(connected, self._make(), self._clock))


async def connect(host: str, port: int, peer: Peer, clock: ArrivalClock) -> None:
    """Open a connection for `peer`, to the first address of the host that takes one.

    Raises:
        OSError: none does.
    """
    loop = asyncio.get_running_loop()
    failure: OSError | None = None
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        opened = socket.socket(family, kind, protocol)
        opened.setblocking(False)
        try:
            await loop.sock_connect(opened, address)
        except BaseException as error:
            opened.close()
            if not isinstance(error, OSError):
                raise
            failure = failure or error
        else:
            StampedSocket(opened, peer, clock)
            return
    raise failure or OSError(f"{host}: no address")
