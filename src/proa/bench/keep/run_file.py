"""Writes the file of a run, or of a combination's blocks, while it goes: about once a second."""

from collections.abc import Sequence
from typing import Any

import msgspec

from proa.bench.decode import VisitLabel
from proa.bench.gauge_stats import GaugeSample
from proa.bench.keep.row_file import RowFile, as_text
from proa.bench.keep.rows import sample_row, tick_row
from proa.bench.listener import RunListener
from proa.bench.process_messages import Tick
from proa.bench.raw import RawExchange
from proa.bench.run import LevelVisit, RunStart
from proa.bench.sample import RequestSample
from proa.bench.window import Cause
from proa.domain.load import EngineLoad

KIND = "run"
_EVERY_S = 1.0


class RunEnd(msgspec.Struct, frozen=True):
    """How a run ended; `stopped` says why before its plan did."""

    stopped: Cause | None
    finished_unix_s: float


class RunFile(RunListener):
    """Keeps visits in `file`, whose closing is the caller's."""

    def __init__(self, file: RowFile) -> None:
        self._file = file
        self._origin_s = 0.0
        self._seq = 0
        self._ended_s = 0.0
        self._level = 0
        self._before = ""
        self._begun: tuple[Any, ...] = ()
        self._flushed_s = 0.0

    def started(self, start: RunStart) -> None:
        self.begin(KIND, start, start.conditions.started_monotonic_s)

    def begin(self, kind: str, start: object, origin_s: float) -> None:
        """`origin_s` is the zero of all times on the monotonic clock."""
        self._origin_s = origin_s
        self._file.start(kind, start)

    def level(
        self, label: VisitLabel, begin_s: float, engines: Sequence[EngineLoad | None]
    ) -> None:
        self._level = label.level
        self._begun = (label.level, label.users, label.rate, begin_s)
        told = as_text(engines)
        self._file.add("visits", [(*self._begun, None, None, None, None, None, told, None)])
        self._before = told
        self._file.flush()

    def raw(self, raw: RawExchange) -> None:
        self._ended_s = raw.ended_s - self._origin_s

    def sample(self, sample: RequestSample) -> None:
        self._seq += 1
        self._file.add("requests", [sample_row(self._seq, sample, self._ended_s)])

    def tick(self, tick: Tick) -> None:
        self._seq += 1
        self._file.add("ticks", [tick_row(self._seq, self._level, tick)])
        if tick.at_s - self._flushed_s >= _EVERY_S:
            self._flushed_s = tick.at_s
            self._file.flush()

    def gauges(self, samples: list[GaugeSample]) -> None:
        self._file.add("gauges", [(s.at_s, s.source, s.name, s.value) for s in samples])

    def visit(self, visit: LevelVisit, engines: Sequence[EngineLoad | None]) -> None:
        window = visit.result.window
        edges = (window.start_s, window.end_s, window.sent_before_s, str(window.cause))
        told = (visit.result.next_number, self._before, as_text(engines))
        self._file.add("visits", [(*self._begun, *edges, *told)])
        self._file.flush()
        self._file.sync()
