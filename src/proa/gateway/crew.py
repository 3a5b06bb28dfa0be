"""Workers that share listening sockets: kept at their number, and drained together.

Another address or another number of workers makes a new crew; the old one finishes
what it has. A single worker accepts by itself. For several the crew accepts, and gives
each client to the worker with the least to do: with SO_REUSEPORT few long-lived
connections would spread badly.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from proa.errors import OwnFault
from proa.gateway.acceptor import Acceptor
from proa.gateway.listeners import path_of
from proa.gateway.messages import Drain, Message
from proa.gateway.row_pool import RowPool
from proa.gateway.worker_process import OnRecords, WorkerProcess
from proa.telemetry.logs import Log
from proa.telemetry.rows import Header

_READY_WITHIN_S = 20.0
_POLL_S = 0.01
_BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_STABLE_S = 30.0
_EARLY_ENDS = 3
_KILL_AFTER_S = 2.0


class Crew:
    """`briefing` gives what a new worker is told first. `restarts` counts replaced workers."""

    def __init__(
        self,
        size: int,
        listeners: Sequence[socket.socket],
        *,
        pool: RowPool,
        briefing: Callable[[], Sequence[Message]],
        on_records: OnRecords,
        log: Log,
    ) -> None:
        self.listeners = listeners
        self.size = size
        self.workers: list[WorkerProcess] = []
        self.restarts = 0
        self._pool = pool
        self._briefing = briefing
        self._on_records = on_records
        self._log = log
        self._shared = size > 1
        self._acceptor: Acceptor | None = None
        self._leaving = asyncio.Event()
        self._places: list[asyncio.Task[None]] = []
        self._early_ends = 0

    async def start(self, generation: int) -> None:
        """Bring the workers up; several take clients only after `accept`.

        Raises:
            OwnFault: none of them came up.
        """
        self._places = [asyncio.create_task(self._hold_place()) for _ in range(self.size)]
        if not await self.settled(generation) and not self._ready():
            self.kill()
            await self._wait_for_all(None)
            raise OwnFault("no worker process came up; their errors are above")

    def accept(self, clients: Sequence[socket.socket] = ()) -> None:
        """Take clients from now on, those first that another crew could not give to anybody."""
        if self._shared:
            self._acceptor = Acceptor(self.listeners, self._hand)
            for client in clients:
                self._acceptor.offer(client)

    def stop_accepting(self) -> list[socket.socket]:
        """Leave clients to another crew on the same sockets; returns those left over."""
        if self._acceptor is None:
            return []
        clients = self._acceptor.close()
        for worker in self.workers:
            worker.hand_no_more()
        return clients

    async def settled(self, generation: int) -> bool:
        """Wait for every worker; false if one refuses this generation or takes too long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _READY_WITHIN_S
        while loop.time() < until and not self._leaving.is_set():
            workers = self.workers
            if len(workers) == self.size and all(w.has_answered(generation) for w in workers):
                return not self.behind(generation)
            if self._early_ends >= _EARLY_ENDS * self.size and not self._ready():
                return False
            await asyncio.sleep(_POLL_S)
        return False

    def behind(self, generation: int) -> tuple[str, ...]:
        """A line for each worker that does not work with this generation, for a person."""
        told = [
            f"worker {worker.row_index} (process {worker.pid}) keeps generation "
            f"{worker.generation}: {worker.refused or 'it has not answered yet'}"
            for worker in self.workers
            if worker.generation < generation
        ]
        missing = self.size - len(self.workers)
        return (*told, *([f"{missing} of {self.size} workers are not up"] if missing else []))

    def tell(self, message: Message) -> None:
        """Send a message to all workers."""
        for worker in self.workers:
            worker.tell(message)

    def tell_newest(self, message: Message) -> None:
        """Send a message that the next one replaces: a worker that is behind need not get it."""
        for worker in self.workers:
            if not worker.is_behind:
                worker.tell(message)

    async def drain(self, limit_s: float, *, accept_s: float, owns_sockets: bool) -> None:
        """Take clients for `accept_s` more, wait for what is open up to `limit_s`, end all.

        Sockets that the crew owns are closed when it takes nobody any more.
        """
        self._leaving.set()
        self.tell(Drain(accept_s))
        until = asyncio.get_running_loop().time() + limit_s + _KILL_AFTER_S
        paths = [path for listener in self.listeners if (path := path_of(listener))]
        if owns_sockets and not self._shared:
            self._close_sockets()  # the worker has its own descriptors of them
        await self._wait_for_all(min(accept_s if self._in_use(accept_s) else 0.0, limit_s))
        for client in self.stop_accepting():
            client.close()
        if owns_sockets:
            self._close_sockets()
            for path in paths:
                with suppress(OSError):
                    os.unlink(path)
        await self._wait_for_all(until - asyncio.get_running_loop().time())
        self.kill()
        await self._wait_for_all(None)

    def kill(self) -> None:
        """End all workers now."""
        self._leaving.set()
        for worker in self.workers:
            worker.kill()

    # places

    async def _hold_place(self) -> None:
        """A worker, and after a back-off another one each time that it ends unasked."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._leaving.is_set():
            started_s = loop.time()
            how = await self._one_worker()
            if self._leaving.is_set():
                return
            self._early_ends += 1
            failures = 1 if loop.time() - started_s > _STABLE_S else failures + 1
            wait_s = _BACKOFF_S[min(failures, len(_BACKOFF_S)) - 1]
            self._log.event("error", "worker ended", **how, restart_in_s=wait_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), wait_s)
            self.restarts += not self._leaving.is_set()

    async def _one_worker(self) -> dict[str, int | str]:
        """From the start of a worker to its end, and why it ended."""
        try:
            worker = self._new_worker()
        except OwnFault as fault:
            return {"reason": str(fault)}
        try:
            listeners = () if self._shared else self.listeners
            await worker.start(listeners, is_handed_clients=self._shared)
            self.workers.append(worker)
            if self._leaving.is_set():
                worker.kill()
            for message in self._briefing():
                worker.tell(message)
            return {"pid": worker.pid, "status": await worker.ended()}
        except OSError as error:
            return {"reason": f"it did not start: {error.strerror or error}"}
        finally:
            if worker in self.workers:
                self.workers.remove(worker)
            self._pool.give_back(worker.row_index)
            self._take_back(worker)

    def _new_worker(self) -> WorkerProcess:
        pool = self._pool
        return WorkerProcess(pool.rows, pool.bells, pool.take(), self._on_records)

    def _take_back(self, ended: WorkerProcess) -> None:
        """Clients that a worker did not fetch before its end go to another one."""
        for client in ended.unfetched():
            if self._acceptor is not None:
                self._acceptor.offer(client)
            else:
                client.close()

    def _hand(self, client: socket.socket) -> bool:
        workers = sorted(self._ready(), key=WorkerProcess.load)
        if not any(worker.hand(client) for worker in workers):
            return False
        client.close()
        return True

    def _in_use(self, seconds: float) -> bool:
        """Whether clients may still come: some are here, or were within the last `seconds`."""
        acceptor = self._acceptor
        connected = any(worker.row[Header.CONNECTIONS] for worker in self.workers)
        return acceptor is None or connected or acceptor.took_within(seconds)

    def _ready(self) -> list[WorkerProcess]:
        return [worker for worker in self.workers if worker.generation]

    def _close_sockets(self) -> None:
        for listener in self.listeners:
            listener.close()

    async def _wait_for_all(self, timeout_s: float | None) -> None:
        if self._places and (timeout_s is None or timeout_s > 0):
            await asyncio.wait(self._places, timeout=timeout_s)
