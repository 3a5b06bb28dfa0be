"""The client processes of a run: started once, loaded level after level, gone with the run."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Self

from proa.bench.load_share import share_of
from proa.bench.process_messages import (
    Begin,
    Frames,
    FromLoad,
    Over,
    Pulse,
    Stop,
    Up,
    frame,
    from_client,
)
from proa.errors import ProaError

PULSE_S = 0.01
_UP_WITHIN_S = 30.0
_END_WITHIN_S = 5.0
_READ_BYTES = 1 << 20


class ClientLostError(ProaError):
    """A client process ended in the middle of a load."""


class Crew:
    """`processes` client processes; use it as a context."""

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        self._children: list[asyncio.subprocess.Process] = []
        self._messages: asyncio.Queue[FromLoad] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._up = asyncio.Semaphore(0)

    async def __aenter__(self) -> Self:
        for share in range(self.processes):
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "proa.bench.client_process",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
            self._children.append(child)
            self._tasks.append(asyncio.create_task(self._read(share, child)))
        try:
            async with asyncio.timeout(_UP_WITHIN_S):
                for _ in range(self.processes):
                    await self._up.acquire()
        except BaseException:
            await self._end()
            raise
        self._tasks.append(asyncio.create_task(self._pulse()))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._end()

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        for child in self._children:
            if child.stdin is not None:
                child.stdin.close()
        for child in self._children:
            try:
                async with asyncio.timeout(_END_WITHIN_S):
                    await child.wait()
            except TimeoutError:
                with suppress(ProcessLookupError):
                    child.kill()
                await child.wait()

    def begin(self, begin: Begin) -> None:
        """Give each process its share."""
        for share in range(self.processes):
            self._send(share, frame(share_of(begin, share, self.processes)))

    def stop(self) -> None:
        """End the load; what was in flight comes as stopped, then an `Over` of each process."""
        for share in range(self.processes):
            self._send(share, frame(Stop()))

    async def messages(self) -> AsyncIterator[FromLoad]:
        """What the processes say, until each has ended its load.

        Raises:
            ClientLostError: a process ended.
        """
        over = 0
        while over < self.processes:
            message = await self._messages.get()
            if isinstance(message, Over):
                over += 1
                if message.share >= self.processes:
                    raise ClientLostError(message.error)
            yield message

    def _send(self, share: int, data: bytes) -> None:
        stdin = self._children[share].stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    async def _read(self, share: int, child: asyncio.subprocess.Process) -> None:
        frames = Frames()
        assert child.stdout is not None
        while data := await child.stdout.read(_READ_BYTES):
            for piece in frames.feed(data):
                message = from_client.decode(piece)
                if isinstance(message, Up):
                    self._up.release()
                else:
                    self._messages.put_nowait(message)
        code = await child.wait()
        lost = f"client process {share} ended with code {code}"
        self._messages.put_nowait(Over(self.processes, error=lost))

    async def _pulse(self) -> None:
        while True:
            for share in range(self.processes):
                self._send(share, frame(Pulse(time.monotonic())))
            await asyncio.sleep(PULSE_S)
