"""Starts, feeds, watches and replaces the workers; owns the listening sockets.

The sockets are never closed on a reload. Settings and fleet views go to the workers
as messages; only another `listen`, `workers` or a switch of TLS makes new processes,
and then the old ones finish what they have.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence

from proa.domain.fleet import FleetView
from proa.errors import OwnFault
from proa.gateway.acceptor import Acceptor
from proa.gateway.listeners import open_listener
from proa.gateway.messages import ApplyFleet, ApplySettings, Drain, Message, ReopenLogs
from proa.gateway.settings import GatewaySettings
from proa.gateway.slots import Slots
from proa.gateway.worker_process import WorkerProcess
from proa.telemetry.logs import Log
from proa.telemetry.process import WorkerView
from proa.telemetry.rows import MAX_ENGINES, MAX_KEYS, SharedRows

ROW_COUNT = 130
_READY_WITHIN_S = 20.0
_POLL_S = 0.01
_BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_STABLE_S = 30.0
_KILL_AFTER_S = 2.0


class Supervisor:
    """One gateway's worker processes."""

    def __init__(
        self, settings: GatewaySettings, *, log: Log, listeners: Sequence[socket.socket] = ()
    ) -> None:
        self.settings = settings
        self.generation = 1
        self.worker_restarts = 0
        self.draining = False
        self.rows = SharedRows.create(ROW_COUNT)
        self._log = log
        self._inherited = tuple(listeners)
        self._listeners: tuple[socket.socket, ...] = ()
        self._engine_slots = Slots("engines", MAX_ENGINES)
        self._key_slots = Slots("API keys", MAX_KEYS)
        self._instance = os.urandom(4).hex()
        self._fleet = FleetView(0, ())
        self._workers: list[WorkerProcess] = []
        self._acceptor: Acceptor | None = None
        self._free_rows = list(range(1, ROW_COUNT))
        self._watchers: set[asyncio.Task[None]] = set()
        self._failures = 0

    # what others read

    @property
    def engine_slots(self) -> dict[str, int]:
        """Cells of every engine since the start, for the metrics."""
        return self._engine_slots.names

    @property
    def key_slots(self) -> dict[str, int]:
        """Cells of every API key since the start."""
        return self._key_slots.names

    @property
    def addresses(self) -> list[str]:
        """Where the gateway listens, with the ports that it really got."""
        return [_address(listener) for listener in self._listeners]

    def workers(self) -> tuple[WorkerView, ...]:
        """The workers at this moment; one that is being replaced is not alive."""
        return tuple(
            WorkerView(
                index=worker.row_index,
                pid=worker.pid,
                generation=worker.generation,
                alive=not worker.leaving and worker.generation > 0,
            )
            for worker in self._workers
        )

    # life

    async def start(self) -> None:
        """Listen and bring up the workers.

        Raises:
            InputError: the address can't be used.
            OwnFault: the workers did not come up.
        """
        self._settings_message()  # the slots, before anything is opened
        self._listeners = self._inherited or (open_listener(self.settings.listen),)
        await self._bring_up()

    async def reload(self, settings: GatewaySettings) -> None:
        """Give all workers a new generation; on an error the old one stays.

        Raises:
            InputError: the new address can't be used, or there are too many engines.
        """
        before = self.settings
        self._engine_slots.assign([engine.name for engine in settings.engines])
        self._key_slots.assign([key.name for key in settings.keys or ()])
        moved = settings.listen != before.listen and not self._inherited
        listeners = (open_listener(settings.listen),) if moved else self._listeners
        self.settings = settings
        self.generation += 1
        if moved or settings.workers != before.workers or (settings.tls is None) is not (before.tls is None):
            await self._replace(listeners)
        else:
            self._tell_all(self._settings_message())
            await self._settled()

    def publish(self, view: FleetView) -> None:
        """Give all workers a new view of the fleet."""
        self._fleet = view
        self._tell_all(ApplyFleet(view))

    def reopen_logs(self) -> None:
        """After a log rotation."""
        self._tell_all(ReopenLogs())

    async def drain(self) -> None:
        """Take nothing new, wait for what is open, end all workers."""
        self.draining = True
        if self._acceptor is not None:
            self._acceptor.pause()
        leaving = list(self._workers)
        for worker in leaving:
            worker.leaving = True
        self._tell_all(Drain())
        limits = self.settings.limits
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.drain_timeout_s + limits.linger_s + _KILL_AFTER_S):
                await asyncio.gather(*self._watchers)
        self.kill()
        await asyncio.gather(*self._watchers)
        self._close_listeners(self._listeners)

    def kill(self) -> None:
        """End all workers now."""
        self.draining = True
        for worker in self._workers:
            worker.leaving = True
            worker.kill()

    # workers

    async def _bring_up(self) -> None:
        settings = self.settings
        shared = settings.workers > 1
        for _ in range(settings.workers):
            await self._spawn()
        await self._settled()
        if not any(worker.generation == self.generation for worker in self._workers):
            self.kill()
            raise OwnFault("no worker process came up; their errors are above")
        if shared:
            self._acceptor = Acceptor(self._listeners, self._takers)
            self._acceptor.resume()

    async def _spawn(self) -> None:
        index = min(self._free_rows)
        self._free_rows.remove(index)
        self.rows.use(index)
        worker = WorkerProcess(self.rows, index)
        shared = self.settings.workers > 1
        now = asyncio.get_running_loop().time()
        self._workers.append(worker)
        await worker.start(() if shared else self._listeners, takes_clients=shared, now=now)
        worker.tell(self._settings_message())
        worker.tell(ApplyFleet(self._fleet))
        watcher = asyncio.create_task(self._watch(worker))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    async def _watch(self, worker: WorkerProcess) -> None:
        """Wait for a worker's end; one that was not told to go is replaced after a back-off."""
        status = await worker.ended()
        self._workers.remove(worker)
        self.rows.retire(worker.row_index)
        self._free_rows.append(worker.row_index)
        if worker.leaving:
            return
        loop = asyncio.get_running_loop()
        self._failures = 0 if loop.time() - worker.started_at > _STABLE_S else self._failures + 1
        wait_s = _BACKOFF_S[min(self._failures, len(_BACKOFF_S)) - 1] if self._failures else 0.0
        self._log.event("error", "worker ended", pid=worker.pid, status=status, restart_in_s=wait_s)
        await asyncio.sleep(wait_s)
        if not self.draining:
            self.worker_restarts += 1
            await self._spawn()

    async def _replace(self, listeners: tuple[socket.socket, ...]) -> None:
        """New processes first, then the old ones drain; nobody finds a closed door."""
        old, old_listeners, old_acceptor = list(self._workers), self._listeners, self._acceptor
        self._listeners = listeners
        self._acceptor = None
        for worker in old:
            worker.leaving = True
        await self._bring_up()
        if old_acceptor is not None:
            old_acceptor.pause()
        for worker in old:
            worker.tell(Drain())
        if old_listeners is not listeners:
            self._close_listeners(old_listeners)

    async def _settled(self) -> None:
        """Wait until every worker works with the current generation."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _READY_WITHIN_S
        while loop.time() < until:
            current = [worker for worker in self._workers if not worker.leaving]
            if current and all(worker.generation >= self.generation for worker in current):
                return
            await asyncio.sleep(_POLL_S)

    def _takers(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if not worker.leaving and worker.generation]

    def _settings_message(self) -> ApplySettings:
        settings = self.settings
        return ApplySettings(
            self.generation,
            settings,
            self._engine_slots.assign([engine.name for engine in settings.engines]),
            self._key_slots.assign([key.name for key in settings.keys or ()]),
            self._instance,
        )

    def _tell_all(self, message: Message) -> None:
        for worker in self._workers:
            worker.tell(message)

    def _close_listeners(self, listeners: Sequence[socket.socket]) -> None:
        for listener in listeners:
            path = listener.getsockname() if listener.family == socket.AF_UNIX else None
            listener.close()
            if path and not self._inherited:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _address(listener: socket.socket) -> str:
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}"
    host = f"[{name[0]}]" if listener.family == socket.AF_INET6 else name[0]
    return f"{host}:{name[1]}"


