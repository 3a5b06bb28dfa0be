"""Accepts clients from listening sockets, whoever takes them: a worker, or the supervisor."""

import asyncio
import errno
import socket
from collections import deque
from collections.abc import Callable, Sequence

_AT_ONCE = 64
_OUT_OF_DESCRIPTORS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_PAUSE_S = 0.1
_NEVER = float("-inf")


class Acceptor:
    """Gives each client to `take`, which owns it then, or says that nobody can have it now.

    Without descriptors, or without a taker, the clients wait in the backlog for a while.
    """

    def __init__(
        self, listeners: Sequence[socket.socket], take: Callable[[socket.socket], bool]
    ) -> None:
        self._listeners = listeners
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[socket.socket] = deque()
        self._pause: asyncio.TimerHandle | None = None
        self._last_s = _NEVER
        self.open = True
        self._resume()

    def offer(self, client: socket.socket) -> None:
        """Take a client that was accepted before, ahead of those in the backlog."""
        if self._take(client):
            return
        if self.open:
            self._waiting.append(client)
            self._rest()
        else:
            client.close()

    def took_within(self, seconds: float) -> bool:
        """Whether a client came that lately."""
        return self._loop.time() - self._last_s < seconds

    def close(self) -> list[socket.socket]:
        """Take those who are here already, and no more; returns the clients that nobody took.

        The listening sockets are their owner's to close.
        """
        if self.open:
            for listener in self._listeners:
                self._accept(listener)
            self.open = False
            self._stop()
        waiting = list(self._waiting)
        self._waiting.clear()
        return [client for client in waiting if not self._take(client)]

    def _resume(self) -> None:
        self._pause = None
        while self._waiting and self._take(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting:
            self._rest()
            return
        for listener in self._listeners:
            self._loop.add_reader(listener.fileno(), self._accept, listener)

    def _stop(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        for listener in self._listeners:
            self._loop.remove_reader(listener.fileno())

    def _rest(self) -> None:
        self._stop()
        self._pause = self._loop.call_later(_PAUSE_S, self._resume)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                client = listener.accept()[0]
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_DESCRIPTORS:
                    self._rest()
                    return
                continue  # the client left while it waited
            self._last_s = self._loop.time()
            client.setblocking(False)
            if not self._take(client):
                self._waiting.append(client)
                self._rest()
                return
