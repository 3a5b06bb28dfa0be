"""The worker's end of the queue over which the supervisor hands it accepted clients."""

import asyncio
import os
import socket
from collections.abc import Callable

_MESSAGE_BYTES = 1
_PAUSE_S = 0.1


class ClientQueue:
    """Gives each client to `take` until the supervisor closes the queue; `open` tells whether.

    The kernel drops a descriptor that comes when the process may have no more, so each
    is fetched only when there is room for it, and else stays in the queue for a while.
    """

    def __init__(self, queue: socket.socket, take: Callable[[socket.socket], object]) -> None:
        self.open = True
        self._queue = queue
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._resume()

    def _resume(self) -> None:
        self._loop.add_reader(self._queue.fileno(), self._fetch)

    def _fetch(self) -> None:
        while _has_room():
            try:
                data, descriptors, _, _ = socket.recv_fds(self._queue, _MESSAGE_BYTES, 1)
            except BlockingIOError:
                return
            if not data:
                self._close()
                return
            for descriptor in descriptors:
                client = socket.socket(fileno=descriptor)
                client.setblocking(False)
                self._take(client)
        self._loop.remove_reader(self._queue.fileno())
        self._loop.call_later(_PAUSE_S, self._resume)

    def _close(self) -> None:
        self._loop.remove_reader(self._queue.fileno())
        self._queue.close()
        self.open = False


def _has_room() -> bool:
    """Whether this process may have one more descriptor."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
