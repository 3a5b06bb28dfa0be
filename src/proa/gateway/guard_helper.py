"""A worker's end of its guard helper: bodies go there that would hold up the worker's loop."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import cast

from proa.gateway.guard_messages import (
    LENGTHS,
    Drop,
    Failed,
    Found,
    Order,
    Reply,
    head_of,
    read_reply,
)

JOB_MAX_S = 120.0
"""A helper that has not ended a job within this time is taken to hang, and is ended."""
OnReply = Callable[[Reply, bytes], None]


class GuardHelper:
    """Starts a process with the first job; when that ends its jobs fail, and the next starts anew.

    `spawned` counts the processes.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float]) -> None:
        self._loop = loop
        self._clock = clock
        self._jobs: dict[int, tuple[OnReply, float]] = {}
        self._last_job = 0
        self._process: HelperProcess | None = None
        self.spawned = 0

    def new_job(self, on_reply: OnReply) -> int:
        """A number for a job, whose replies go to `on_reply`: the last is `Done` or `Failed`."""
        self._last_job += 1
        self._jobs[self._last_job] = on_reply, self._clock()
        return self._last_job

    def tell(self, order: Order, body: bytes = b"") -> None:
        """Send an order; where no process can be had, its job fails soon."""
        if self._process is None:
            try:
                self._process = HelperProcess(self._loop, self._deliver, self._lost)
            except OSError:
                self._loop.call_soon(self._fail_all)
                return
            self.spawned += 1
        self._process.send(head_of(order, len(body)), body)

    def drop(self, job: int) -> None:
        """Nobody waits for this any more."""
        if self._jobs.pop(job, None) is not None and self._process is not None:
            self.tell(Drop(job))

    def sweep(self) -> None:
        """Every 250 ms: end a process that hangs."""
        now_s = self._clock()
        if any(now_s - since_s > JOB_MAX_S for _, since_s in self._jobs.values()):
            self.close()

    def close(self) -> None:
        """End the process; its jobs fail."""
        if self._process is not None:
            self._process.close()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def _deliver(self, reply: Reply, body: bytes) -> None:
        found = self._jobs.get(reply.job)
        if found is None:
            return
        if not isinstance(reply, Found):
            del self._jobs[reply.job]
        found[0](reply, body)

    def _lost(self) -> None:
        self._process = None
        self._fail_all()

    def _fail_all(self) -> None:
        jobs, self._jobs = self._jobs, {}
        for job, (on_reply, _) in jobs.items():
            on_reply(Failed(job), b"")


class HelperProcess(asyncio.Protocol):
    """One process and the socket to it.

    Raises:
        OSError: no process, descriptor or memory is left.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, on_reply: OnReply, on_lost: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._on_reply = on_reply
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._part = bytearray()
        self._needed_bytes = LENGTHS.size
        self._body_bytes = -1  # not known yet
        self._reply: Reply | None = None
        self._is_closed = False
        ours, theirs = socket.socketpair()
        try:
            self._process = _spawned(theirs)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._connecting = loop.create_task(self._connect(loop, ours))

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, head: bytes, body: bytes) -> None:
        """A message; it waits until the process is connected."""
        for piece in (head, body):
            if self._transport is None:
                self._unsent.append(piece)
            elif piece:
                self._transport.write(piece)

    def close(self) -> None:
        """End it at once."""
        if self._is_closed:
            return
        self._is_closed = True
        self._connecting.cancel()
        self._process.kill()
        self._process.wait()  # for one that was killed, which takes no time
        if self._transport is not None:
            self._transport.abort()
        self._on_lost()

    async def _connect(self, loop: asyncio.AbstractEventLoop, ours: socket.socket) -> None:
        try:
            await loop.create_connection(lambda: self, sock=ours)
        except OSError:
            ours.close()
            self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        unsent, self._unsent = self._unsent, []
        for piece in unsent:
            if piece:
                self._transport.write(piece)

    def connection_lost(self, exc: Exception | None) -> None:
        self.close()

    def data_received(self, data: bytes) -> None:
        """A body comes in many reads: it grows with each, for joining them takes time."""
        at = 0
        while at < len(data) or self._needed_bytes == len(self._part):
            missing = self._needed_bytes - len(self._part)
            self._part += data[at : at + missing]
            at += missing
            if self._needed_bytes == len(self._part):
                part, self._part = self._part, bytearray()
                self._took(part)

    def _took(self, part: bytearray) -> None:
        """A part of a message is whole: its lengths, its head, its body."""
        if self._reply is not None:
            reply, self._reply = self._reply, None
            self._needed_bytes = LENGTHS.size
            self._loop.call_soon(self._on_reply, reply, cast(bytes, part))
        elif self._body_bytes < 0:
            self._needed_bytes, self._body_bytes = LENGTHS.unpack(part)
        else:
            self._reply = read_reply(part)
            self._needed_bytes, self._body_bytes = self._body_bytes, -1


def _spawned(channel: socket.socket) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "proa.gateway.guard_process"]
    descriptor = channel.fileno()
    return subprocess.Popen(
        [*command, f"--channel-fd={descriptor}"],
        pass_fds=(descriptor,),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
