"""One worker as the supervisor sees it: a process, its channel, its row."""

import asyncio
import socket
import sys
from collections.abc import Sequence

from proa.gateway.messages import Message, frame
from proa.telemetry.rows import Header, SharedRows


class WorkerProcess:
    """`handed` counts the clients given to it; `hand` is false when its queue is full."""

    def __init__(self, rows: SharedRows, row_index: int) -> None:
        self.row_index = row_index
        self.row = rows.rows[row_index]
        self.handed = 0
        self.started_at = 0.0
        self.leaving = False
        self._rows = rows
        self._writer: asyncio.StreamWriter | None = None
        self._clients: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def generation(self) -> int:
        return self.row[Header.GENERATION]

    async def start(self, listeners: Sequence[socket.socket], *, takes_clients: bool, now: float) -> None:
        """Spawn it with the listening sockets, or with a queue for accepted clients."""
        ours, theirs = socket.socketpair()
        descriptors = [theirs.fileno(), self._rows.descriptor]
        arguments = [f"--channel-fd={theirs.fileno()}", f"--rows-fd={self._rows.descriptor}", f"--row={self.row_index}"]
        queue: socket.socket | None = None
        if takes_clients:
            self._clients, queue = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._clients.setblocking(False)
            descriptors.append(queue.fileno())
            arguments.append(f"--clients-fd={queue.fileno()}")
        for listener in listeners:
            descriptors.append(listener.fileno())
            arguments.append(f"--listen-fd={listener.fileno()}")
        command = [sys.executable, "-m", "proa.gateway.worker", *arguments]
        self._process = await asyncio.create_subprocess_exec(*command, pass_fds=descriptors, stdin=asyncio.subprocess.DEVNULL)
        theirs.close()
        if queue is not None:
            queue.close()
        self.started_at = now
        _, self._writer = await asyncio.open_connection(sock=ours)

    def tell(self, message: Message) -> None:
        """Send a message; a worker that has ended is noticed by `ended`."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(message))

    def load(self) -> tuple[int, int]:
        """Open exchanges and connections, those on their way included."""
        on_the_way = self.handed - self.row[Header.ACCEPTED]
        return self.row[Header.OPEN_EXCHANGES] + on_the_way, self.row[Header.CONNECTIONS] + on_the_way

    def hand(self, client: socket.socket) -> bool:
        """Pass an accepted client on."""
        assert self._clients is not None
        try:
            socket.send_fds(self._clients, [b"c"], [client.fileno()])
        except OSError:
            return False
        self.handed += 1
        return True

    async def ended(self) -> int:
        """Wait for the process to end; its exit status."""
        assert self._process is not None
        status = await self._process.wait()
        if self._writer is not None:
            self._writer.close()
        if self._clients is not None:
            self._clients.close()
        return status

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
