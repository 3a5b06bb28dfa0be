"""Gives the workers their settings and views of the fleet; owns the listening sockets.

The sockets are never closed on a reload. Settings and fleet views go to the workers
as messages; only another `listen` or `workers` makes new processes, and then the old
ones finish what they have.
"""

import asyncio
import os
import socket
import time
from collections.abc import Sequence

from proa.domain.fleet import FleetView
from proa.domain.load import LoadView
from proa.domain.tenant import DEFAULT_TENANT
from proa.errors import OwnFault
from proa.gateway.crew import Crew
from proa.gateway.listeners import address_of, close_listener, open_listener
from proa.gateway.messages import ApplyFleet, ApplyLoads, ApplySettings, Message, ReopenLogs
from proa.gateway.row_pool import RowPool
from proa.gateway.settings import GatewaySettings
from proa.gateway.slots import Slots
from proa.gateway.worker_process import OnRecords
from proa.telemetry.logs import Log
from proa.telemetry.process import WorkerView
from proa.telemetry.rows import MAX_ENGINES, MAX_KEYS, MAX_TENANTS, SharedRows

ROW_COUNT = 130


class Supervisor:
    """One gateway's worker processes."""

    def __init__(
        self, settings: GatewaySettings, *, log: Log, listeners: Sequence[socket.socket] = (),
        on_records: OnRecords = lambda records: None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._on_records = on_records
        self.generation = 1
        self.draining = False
        self.rows = SharedRows.create(ROW_COUNT)
        self.addresses: list[str] = []
        self._log = log
        self._inherited = tuple(listeners)
        self._engine_slots = Slots(
            "engines",
            MAX_ENGINES,
            clock=time.monotonic,
            is_idle=lambda slot: not self.rows.engine_in_flight(slot),
            clear=self.rows.forget_engine,
        )
        self._key_slots = Slots("API keys", MAX_KEYS, clock=time.monotonic)
        self._tenant_slots = Slots("tenants", MAX_TENANTS, clock=time.monotonic)
        self._instance = os.urandom(4).hex()
        self._fleet = FleetView(0, ())
        self._loads = LoadView(0, ())
        self._pool = RowPool(self.rows)
        self._crew: Crew | None = None
        self._next: Crew | None = None
        self._leaving: dict[Crew, asyncio.Task[None]] = {}
        self._earlier_restarts = 0

    # what others read

    @property
    def engine_slots(self) -> dict[str, int]:
        """Cells of every engine whose counts are still known, for the metrics."""
        return self._engine_slots.names

    @property
    def key_slots(self) -> dict[str, int]:
        """Cells of every API key since the start."""
        return self._key_slots.names

    @property
    def tenant_slots(self) -> dict[str, int]:
        """Cells of the tenants that are configured now."""
        slots = self._tenant_slots.names
        return {tenant.name: slots[tenant.name] for tenant in self.settings.tenants}

    @property
    def worker_restarts(self) -> int:
        return self._earlier_restarts + (self._crew.restarts if self._crew else 0)

    def workers(self) -> tuple[WorkerView, ...]:
        """The workers at this moment; those that only finish what they have are not alive."""
        return tuple(
            WorkerView(
                index=worker.row_index,
                pid=worker.pid,
                generation=worker.generation,
                alive=crew is self._crew and not self.draining and worker.generation > 0,
                refused=worker.refused,
            )
            for crew in self._crews()
            for worker in crew.workers
        )

    # life

    def assign(self) -> None:
        """Give all names their cells, before anything is opened.

        Raises:
            InputError: there are too many of something.
        """
        self._slots_of(self.settings)

    async def start(self) -> None:
        """Listen and bring up the workers.

        Raises:
            InputError: the address can't be used.
            OwnFault: the workers did not come up.
        """
        self.assign()
        listeners = self._inherited or (open_listener(self.settings.listen),)
        self.addresses = [address_of(listener) for listener in listeners]
        self._crew = self._new_crew(listeners)
        await self._crew.start(self.generation)
        self._crew.accept()

    async def reload(self, settings: GatewaySettings) -> tuple[str, ...]:
        """Give all workers a new generation; on an error the old one stays.

        Returns a line for each worker that could not take it, or did not in time.

        Raises:
            InputError: the new address can't be used, or there are too many engines.
            OwnFault: the new workers did not come up.
        """
        assert self._crew is not None
        before, crew = self.settings, self._crew
        self._slots_of(settings)
        moved = settings.listen != before.listen and not self._inherited
        listeners = (open_listener(settings.listen),) if moved else crew.listeners
        self.settings = settings
        self.generation += 1
        if not moved and settings.workers == crew.size:
            self._tell_all(self._settings_message())
            await crew.settled(self.generation)
            return crew.behind(self.generation)
        try:
            await self._replace(crew, listeners)
        except OwnFault:
            self.settings = before
            self.generation -= 1
            if moved:
                close_listener(listeners[0])
            raise
        return self._crew.behind(self.generation)

    def publish(self, view: FleetView) -> None:
        """Give all workers a new view of the fleet."""
        self._fleet = view
        self._tell_all(ApplyFleet(view))

    def publish_loads(self, view: LoadView) -> None:
        """Give all workers a new view of the engines' loads."""
        self._loads = view
        for crew in self._crews():
            crew.tell_newest(ApplyLoads(view))

    def reopen_logs(self) -> None:
        """After a log rotation."""
        self._tell_all(ReopenLogs())

    async def drain(self) -> None:
        """Take nothing new after the linger time, wait for what is open, end all workers.

        A socket that was handed in is left to whoever comes next, at once.
        """
        self.draining = True
        if self._crew is not None:
            self._dismiss(self._crew, accepts=not self._inherited)
        await asyncio.gather(*self._leaving.values())

    def kill(self) -> None:
        """End all workers now."""
        self.draining = True
        for crew in self._crews():
            crew.kill()

    # crews

    def _new_crew(self, listeners: Sequence[socket.socket]) -> Crew:
        return Crew(
            self.settings.workers,
            listeners,
            pool=self._pool,
            briefing=lambda: (
                self._settings_message(),
                ApplyLoads(self._loads),
                ApplyFleet(self._fleet),
            ),
            on_records=self._on_records,
            log=self._log,
        )

    def _crews(self) -> list[Crew]:
        return [crew for crew in (self._crew, self._next, *self._leaving) if crew is not None]

    async def _replace(self, old: Crew, listeners: Sequence[socket.socket]) -> None:
        """New processes first, then the old ones drain; nobody finds a closed door."""
        new = self._next = self._new_crew(listeners)
        try:
            await new.start(self.generation)
        finally:
            self._next = None
        moved = listeners is not old.listeners
        new.accept([] if moved else old.stop_accepting())
        self._crew = new
        self.addresses = [address_of(listener) for listener in listeners]
        self._dismiss(old, accepts=moved)

    def _dismiss(self, crew: Crew, *, accepts: bool) -> None:
        """Drain a crew; with `accepts` its sockets are its own, and it serves them for a while."""
        if crew is self._crew:
            self._crew = None
        self._earlier_restarts += crew.restarts
        limits = self.settings.limits
        accept_s = limits.linger_s if accepts else 0.0
        leaving = crew.drain(limits.drain_timeout_s, accept_s=accept_s, owns_sockets=accepts)
        self._leaving[crew] = task = asyncio.create_task(leaving)
        task.add_done_callback(lambda _: self._leaving.pop(crew))

    # workers

    def _settings_message(self) -> ApplySettings:
        engines, keys, tenants = self._slots_of(self.settings)
        return ApplySettings(self.generation, self.settings, engines, keys, self._instance, tenants)

    def _slots_of(self, settings: GatewaySettings) -> tuple[dict[str, int], ...]:
        """Of engines, keys, tenants; no request is longer under way than `total_timeout_s`."""
        tenants = [DEFAULT_TENANT, *(tenant.name for tenant in settings.tenants)]
        engines = [engine.name for engine in settings.engines]
        return (
            self._engine_slots.assign(engines, reuse_after_s=settings.limits.total_timeout_s),
            self._key_slots.assign([key.name for key in settings.keys or ()]),
            self._tenant_slots.assign(tenants),
        )

    def _tell_all(self, message: Message) -> None:
        for crew in self._crews():
            crew.tell(message)
