"""Accepting for several workers: each client goes to the one with the fewest open exchanges."""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence

from proa.gateway.worker_process import WorkerProcess

_AT_ONCE = 64
_OUT_OF_DESCRIPTORS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_PAUSE_S = 0.1


class Acceptor:
    """Reads the listening sockets; `workers` says who may be given a client now."""

    def __init__(self, listeners: Sequence[socket.socket], workers: Callable[[], Sequence[WorkerProcess]]) -> None:
        self._listeners = listeners
        self._workers = workers
        self._loop = asyncio.get_running_loop()
        self._open = False
        self._waiting: socket.socket | None = None

    def resume(self) -> None:
        if not self._open:
            self._open = True
            for listener in self._listeners:
                self._loop.add_reader(listener.fileno(), self._accept, listener)

    def pause(self) -> None:
        """Leave clients in the backlog."""
        if self._open:
            self._open = False
            for listener in self._listeners:
                self._loop.remove_reader(listener.fileno())

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                client = self._waiting or listener.accept()[0]
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_DESCRIPTORS:
                    self._later()
                    return
                continue  # the client left while it waited
            workers = sorted(self._workers(), key=WorkerProcess.load)
            if not any(worker.hand(client) for worker in workers):
                self._waiting = client
                self._later()
                return
            self._waiting = None
            client.close()

    def _later(self) -> None:
        self.pause()
        self._loop.call_later(_PAUSE_S, self.resume)
