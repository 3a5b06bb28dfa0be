"""Writes a run's file while the run goes: about once a second, all or nothing.

Killed, it keeps all but the last second. A full disk does not end the run: rows wait in memory
and are tried again; what could not be written is told at the end.
"""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from proa.bench.conditions import shown_url
from proa.bench.decode import VisitLabel
from proa.bench.gauge_stats import GaugeSample
from proa.bench.keep.rows import COLUMNS, placeholders, sample_row, tick_row
from proa.bench.keep.schema import create
from proa.bench.listener import RunListener
from proa.bench.process_messages import Tick
from proa.bench.raw import RawExchange
from proa.bench.run import LevelVisit, RunStart
from proa.bench.sample import RequestSample
from proa.bench.target import TargetSpec
from proa.bench.workloads import WorkloadSpec
from proa.domain.load import EngineLoad

_EVERY_S = 1.0
_INSERTS = {
    "about": "INSERT OR REPLACE INTO about VALUES (?, ?)",
    "visits": "INSERT OR REPLACE INTO visits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "requests": f"INSERT INTO requests ({', '.join(COLUMNS)}) VALUES ({placeholders(COLUMNS)})",
    "ticks": "INSERT INTO ticks VALUES (?, ?, ?, ?, ?)",
    "gauges": "INSERT INTO gauges VALUES (?, ?, ?, ?)",
}


class RunFile(RunListener):
    """An open file; `close` it whatever happens. `fault` says what could not be written."""

    def __init__(self, path: Path) -> None:
        """Raises InputError: there is such a file, or it cannot be written."""
        self.path = path
        self.fault: str | None = None
        self._connection: sqlite3.Connection | None = create(path)
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _INSERTS}
        self._is_started = False
        self._origin_s = 0.0
        self._seq = 0
        self._ended_s = 0.0
        self._level = 0
        self._before = ""
        self._begun: tuple[Any, ...] = ()
        self._flushed_s = 0.0

    @property
    def waiting(self) -> int:
        """Rows that are not in the file yet."""
        return sum(map(len, self._rows.values()))

    def started(self, start: RunStart) -> None:
        self._is_started = True
        self._origin_s = start.conditions.started_monotonic_s
        self._about("start", without_secrets(start))
        self.flush()

    def level(
        self, label: VisitLabel, begin_s: float, engines: Sequence[EngineLoad | None]
    ) -> None:
        self._level = label.level
        self._begun = (label.level, label.users, label.rate, begin_s)
        told = _json(engines)
        self._rows["visits"].append((*self._begun, None, None, None, None, None, told, None))
        self._before = told
        self.flush()

    def raw(self, raw: RawExchange) -> None:
        self._ended_s = raw.ended_s - self._origin_s

    def sample(self, sample: RequestSample) -> None:
        self._seq += 1
        self._rows["requests"].append(sample_row(self._seq, sample, self._ended_s))

    def tick(self, tick: Tick) -> None:
        self._seq += 1
        self._rows["ticks"].append(tick_row(self._seq, self._level, tick))
        if tick.at_s - self._flushed_s >= _EVERY_S:
            self._flushed_s = tick.at_s
            self.flush()

    def gauges(self, samples: list[GaugeSample]) -> None:
        self._rows["gauges"] += [(s.at_s, s.source, s.name, s.value) for s in samples]

    def visit(self, visit: LevelVisit, engines: Sequence[EngineLoad | None]) -> None:
        window = visit.result.window
        edges = (window.start_s, window.end_s, window.sent_before_s, str(window.cause))
        number = visit.result.next_number
        self._rows["visits"].append((*self._begun, *edges, number, self._before, _json(engines)))
        self.flush()
        self._sync()

    def finish(self, *, stopped: str | None, finished_unix_s: float) -> None:
        """The run ended by itself, or said why not; without this the file is one cut off."""
        self._about("stopped", stopped)
        self._about("finished_unix_s", finished_unix_s)

    def flush(self) -> bool:
        """Write all that waits; whether that went well."""
        connection = self._connection
        if connection is None or not self.waiting:
            return connection is not None
        try:
            connection.execute("BEGIN")
            for table, rows in self._rows.items():
                connection.executemany(_INSERTS[table], rows)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self.fault = str(error)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return False
        self.fault = None
        for rows in self._rows.values():
            rows.clear()
        return True

    def close(self) -> None:
        """Write the rest and close; a file without a run in it is taken away.

        `fault` and `waiting` tell what is lost.
        """
        if self._connection is None:
            return
        self.flush()
        self._sync()
        self._connection.close()
        self._connection = None
        if not self._is_started:
            self.path.unlink()

    def _about(self, key: str, value: object) -> None:
        self._rows["about"].append((key, _json(value)))

    def _sync(self) -> None:
        """Wait until the disk has it; called between levels only."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            self.fault = error.strerror
            return
        try:
            os.fsync(descriptor)
        except OSError as error:
            self.fault = error.strerror
        finally:
            os.close(descriptor)


def without_secrets(start: RunStart) -> RunStart:
    """As it is kept: no keys, no values of headers, no passwords, no texts of a data set."""
    targets = [
        msgspec.structs.replace(load, target=_bare_target(load.target)) for load in start.targets
    ]
    spec = start.spec
    bare = msgspec.structs.replace(
        spec,
        targets=tuple(map(_bare_target, spec.targets)),
        workload=_bare_workload(spec.workload),
    )
    return msgspec.structs.replace(start, spec=bare, targets=targets)


def _bare_target(target: TargetSpec) -> TargetSpec:
    return msgspec.structs.replace(
        target,
        url=shown_url(target.url),
        metrics_url=shown_url(target.metrics_url),
        api_key="",
        headers=dict.fromkeys(target.headers, ""),
    )


def _bare_workload(workload: WorkloadSpec) -> WorkloadSpec:
    return msgspec.structs.replace(workload, dataset=[], trace=[])


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
