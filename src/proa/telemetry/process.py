"""What the supervisor tells of itself and its workers, for metrics, readiness and status."""

import msgspec


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process: `index` is its row in the shared rows, 1 and up."""

    index: int
    pid: int
    generation: int
    alive: bool = True


class ReloadView(msgspec.Struct, frozen=True, kw_only=True):
    """How the last reading of the configuration ended; `at_s` is Unix time."""

    at_s: float
    error: str = ""

    @property
    def succeeded(self) -> bool:
        return not self.error


class ProcessView(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway's processes at one moment; `generation` counts accepted configurations."""

    generation: int = 1
    workers: tuple[WorkerView, ...] = ()
    worker_restarts: int = 0
    draining: bool = False
    last_reload: ReloadView | None = None
    log_lines_dropped: int = 0

    @property
    def alive_workers(self) -> int:
        return sum(worker.alive for worker in self.workers)
