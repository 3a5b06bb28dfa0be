"""What the supervisor tells of itself and its workers, for metrics, readiness and status."""

from collections.abc import Callable, Mapping

import msgspec

from proa.domain.fleet import FleetView
from proa.domain.load import LoadView
from proa.routing.quota.used import Used
from proa.telemetry.rows import SharedRows


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process: `index` is its row in the shared rows, 1 and up.

    `refused` is why it did not take the newest settings, empty if it did.
    """

    index: int
    pid: int
    generation: int
    alive: bool = True
    refused: str = ""


class ReloadView(msgspec.Struct, frozen=True, kw_only=True):
    """How the last reading of the configuration ended; `at_s` is Unix time.

    `warnings` tell what went wrong with settings that were taken all the same.
    """

    at_s: float
    error: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        return not self.error


class RecordsView(msgspec.Struct, frozen=True, kw_only=True):
    """How keeping request records goes: `store` without secrets, empty for none.

    `problem` is why the store takes nothing, empty when it does.
    """

    store: str = ""
    waiting: int = 0
    written: int = 0
    dropped: int = 0
    problem: str = ""


class TenantStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One tenant: its limits, and what this gateway counted for it today (cost in millionths)."""

    limits: tuple[Used, ...] = ()
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    currency: str = ""


class UsageView(msgspec.Struct, frozen=True, kw_only=True):
    """How keeping the usage of tenants goes: `store` without secrets, empty for none.

    `unsaved` are counts (a tenant's of a day) that the store has not taken yet. `problem` is
    why it takes nothing, empty when it does; `failures` counts such tries. `standings` reads
    what configured tenants have used of each of their limits.
    """

    store: str = ""
    unsaved: int = 0
    failures: int = 0
    problem: str = ""
    standings: Callable[[], Mapping[str, TenantStanding]] = dict


class ProcessView(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway's processes at one moment; `generation` counts accepted configurations."""

    generation: int = 1
    workers: tuple[WorkerView, ...] = ()
    worker_restarts: int = 0
    draining: bool = False
    last_reload: ReloadView | None = None
    log_lines_dropped: int = 0
    records: RecordsView = RecordsView()
    usage: UsageView = UsageView()

    @property
    def alive_workers(self) -> int:
        return sum(worker.alive for worker in self.workers)


class GatewayView(msgspec.Struct, frozen=True, kw_only=True):
    """All that metrics, readiness and status are made of.

    Slots are places in the shared rows, by the names of engines, API keys and tenants. `now_s` is
    on the monotonic clock that loads have their times of.
    """

    rows: SharedRows
    engine_slots: Mapping[str, int]
    key_slots: Mapping[str, int]
    fleet: FleetView
    process: ProcessView
    version: str
    loads: LoadView = LoadView(0, ())
    now_s: float = 0.0
    tenant_slots: Mapping[str, int] = {}
