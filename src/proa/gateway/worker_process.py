"""One worker as its crew sees it: a process, its channel, its row, its queue of clients."""

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence

from proa.domain.request_record import KeptRequest
from proa.gateway.bells import Bells
from proa.gateway.messages import Message, Records, SettingsRefused, frame, next_message
from proa.telemetry.rows import Header, SharedRows

OnRecords = Callable[[list[KeptRequest]], None]
_CLIENT = b"c"
_LAST_WORDS_S = 1.0


class WorkerProcess:
    """`handed` counts the clients given to it.

    Both ends of the queue of clients stay open here, so that those whom a worker
    did not fetch before its end can be fetched back.
    """

    def __init__(
        self, rows: SharedRows, bells: Bells, row_index: int, on_records: OnRecords
    ) -> None:
        self.row_index = row_index
        self.row = rows.rows[row_index]
        self.handed = 0
        self._rows = rows
        self._on_records = on_records
        self._bells = bells.descriptors
        self._writer: asyncio.StreamWriter | None = None
        self._answers: asyncio.Task[None] | None = None
        self._refused: SettingsRefused | None = None
        self._queue: tuple[socket.socket, socket.socket] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def generation(self) -> int:
        """The settings that it works with; 0 before it takes clients."""
        return self.row[Header.GENERATION]

    @property
    def refused(self) -> str:
        """Why it did not take settings newer than those that it works with; empty if it did."""
        refused = self._refused
        return refused.error if refused and refused.generation > self.generation else ""

    def has_answered(self, generation: int) -> bool:
        """Whether it works with this generation, or has said that it cannot."""
        refused = self._refused
        return self.generation >= generation or bool(refused and refused.generation >= generation)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while (message := await next_message(reader)) is not None:
            if isinstance(message, SettingsRefused):
                self._refused = message
            elif isinstance(message, Records):
                self._on_records(message.requests)

    async def start(self, listeners: Sequence[socket.socket], *, is_handed_clients: bool) -> None:
        """Spawn it, in a session of its own: Ctrl-C is for the supervisor alone.

        Raises:
            OSError: no process, descriptor or memory is left.
        """
        ours, theirs = socket.socketpair()
        inherited = {"--channel-fd": theirs.fileno(), "--rows-fd": self._rows.descriptor}
        if is_handed_clients:
            self._queue = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for end in self._queue:
                end.setblocking(False)
            inherited["--clients-fd"] = self._queue[1].fileno()
        arguments = [f"{name}={descriptor}" for name, descriptor in inherited.items()]
        arguments += [f"--bell-fd={bell}" for bell in self._bells]
        arguments += [f"--listen-fd={listener.fileno()}" for listener in listeners]
        command = [sys.executable, "-m", "proa.gateway.worker", f"--row={self.row_index}"]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                *arguments,
                pass_fds=[*inherited.values(), *self._bells, *map(socket.socket.fileno, listeners)],
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
            reader, self._writer = await asyncio.open_connection(sock=ours)
            self._answers = asyncio.create_task(self._listen(reader))
        except BaseException:
            ours.close()
            self._close_queue()
            raise
        finally:
            theirs.close()

    def tell(self, message: Message) -> None:
        """Send a message; a worker that has ended is noticed by `ended`."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(message))

    @property
    def is_behind(self) -> bool:
        """Whether it has not read all that it was told."""
        return self._writer is not None and self._writer.transport.get_write_buffer_size() > 0

    def load(self) -> int:
        """Connections twice, those on their way too, and once more those with an open exchange.

        Open exchanges alone tell little when they are short: which connections of a
        closed loop are busy in one instant is chance.
        """
        on_the_way = self.handed - self.row[Header.ACCEPTED]
        return 2 * self.row[Header.CONNECTIONS] + self.row[Header.OPEN_EXCHANGES] + 3 * on_the_way

    def hand(self, client: socket.socket) -> bool:
        """Pass an accepted client on; false when the worker's queue is full."""
        assert self._queue is not None
        try:
            socket.send_fds(self._queue[0], [_CLIENT], [client.fileno()])
        except OSError:
            return False
        self.handed += 1
        return True

    def hand_no_more(self) -> None:
        """The worker sees the end of its queue once it has fetched all clients."""
        if self._queue is not None:
            self._queue[0].close()

    async def ended(self) -> int:
        """Wait for the process to end; its exit status."""
        assert self._process is not None
        status = await self._process.wait()
        if self._writer is not None:
            if self._answers is not None:  # its last words may still be on the way
                await asyncio.wait([self._answers], timeout=_LAST_WORDS_S)
            self._writer.close()
        return status

    def unfetched(self) -> list[socket.socket]:
        """The clients that the ended worker left in its queue; closes the queue."""
        clients: list[socket.socket] = []
        while self._queue is not None:
            try:
                _, descriptors, _, _ = socket.recv_fds(self._queue[1], len(_CLIENT), 1)
            except BlockingIOError:
                break
            if not descriptors:
                break
            clients += [socket.socket(fileno=descriptor) for descriptor in descriptors]
        self._close_queue()
        for client in clients:
            client.setblocking(False)
        return clients

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def _close_queue(self) -> None:
        for end in self._queue or ():
            end.close()
