"""A run's file read back: all numbers are computed again from what was seen."""

import sqlite3
from typing import NamedTuple

import msgspec

from proa.bench.decode import VisitLabel
from proa.bench.gauge_stats import GaugeSample
from proa.bench.keep.read_about import started
from proa.bench.keep.rows import COLUMNS, row_sample, row_tick
from proa.bench.keep.run_file import RunEnd
from proa.bench.process_messages import Tick
from proa.bench.run import RunResult, RunStart, drift_of, level_visit
from proa.bench.run_spec import LevelSpec
from proa.bench.sample import RequestSample
from proa.bench.visit import VisitResult, visit_result
from proa.bench.window import Cause, LevelWatch, LevelWindow, WindowSpec
from proa.domain.load import EngineLoad

_engines = msgspec.json.Decoder(list[EngineLoad | None])
Seen = list[tuple[int, RequestSample, float] | tuple[int, Tick]]
"""A visit's requests (with the time of their end) and ticks, by the order of their coming."""


class VisitRow(NamedTuple):
    """A row of the table `visits`."""

    level: int
    users: int | None
    rate: float | None
    begin_s: float
    start_s: float | None
    end_s: float | None
    sent_before_s: float | None
    cause: str | None
    next_number: int | None
    engines_before: str
    engines_after: str | None


def read_run(connection: sqlite3.Connection) -> RunResult:
    """One that was cut off is as long as it came; its last visit ends by the watch's rules."""
    start, end = started(connection, RunStart, RunEnd)
    gauges = [
        GaugeSample(*row)
        for row in connection.execute("SELECT at_s, source, name, value FROM gauges ORDER BY rowid")
    ]
    visits = []
    for row in _rows(connection):
        result = _result(connection, row, start.spec.window)
        if result is not None:
            after = _engines.decode(row.engines_after) if row.engines_after else []
            before = _engines.decode(row.engines_before) if after else []
            level = LevelSpec(row.users, row.rate)
            visits.append(level_visit(level, result, (before, after), start=start, gauges=gauges))
    return RunResult(
        start=start,
        visits=visits,
        gauges=gauges,
        stopped=Cause.CUT_OFF if end is None else end.stopped,
        drift=drift_of(visits),
    )


def whole_visits(connection: sqlite3.Connection) -> list[VisitResult]:
    """Those that came to their end."""
    results = [_result(connection, row, None) for row in _rows(connection)]
    return [result for result in results if result is not None]


def _rows(connection: sqlite3.Connection) -> list[VisitRow]:
    rows = connection.execute("SELECT * FROM visits ORDER BY level").fetchall()
    return [VisitRow._make(row) for row in rows]


def _result(
    connection: sqlite3.Connection, row: VisitRow, spec: WindowSpec | None
) -> VisitResult | None:
    """None where nothing was seen of it, or where it was cut off and `spec` is None."""
    seen = _seen(connection, row.level)
    window = _window(row)
    if window is None and seen and spec is not None:
        window = window_of_cut(seen, row, spec)
    if not seen or window is None:
        return None
    samples = [each[1] for each in seen if len(each) == 3]
    ticks = [each[1] for each in seen if len(each) == 2]
    label = VisitLabel(row.level, row.users, row.rate)
    return visit_result(label, samples, ticks, window, next_number=row.next_number or 0)


def _seen(connection: sqlite3.Connection, level: int) -> Seen:
    asked = f"SELECT {', '.join(COLUMNS)} FROM requests WHERE level = ? ORDER BY seq"
    seen: Seen = [(row[0], row_sample(row), row[-2]) for row in connection.execute(asked, (level,))]
    ticks = connection.execute("SELECT seq, tick FROM ticks WHERE level = ?", (level,))
    seen += [(seq, row_tick(blob)) for seq, blob in ticks]
    return sorted(seen, key=lambda each: each[0])


def _window(row: VisitRow) -> LevelWindow | None:
    if row.start_s is None or row.end_s is None or row.sent_before_s is None or not row.cause:
        return None
    return LevelWindow(row.start_s, row.end_s, row.sent_before_s, Cause(row.cause))


def window_of_cut(seen: Seen, row: VisitRow, spec: WindowSpec) -> LevelWindow:
    """Of a visit that was cut off: what the watch over it would say, had it ended there."""
    shares = {each[1].share for each in seen if len(each) == 2}
    watch = LevelWatch(
        spec, begin_s=row.begin_s, users=row.users, shares=max(shares, default=0) + 1
    )
    last_s = row.begin_s
    for each in seen:
        if len(each) == 3:
            _, sample, ended_s = each
            last_s = ended_s
            if not sample.is_stopped:
                watch.ended(sample.user, sent_s=sample.sent_s, end_s=ended_s)
        else:
            tick = each[1]
            last_s = tick.at_s
            watch.tick(tick.share, at_s=tick.at_s, oldest_sent_s=tick.oldest_sent_s)
    watch.cut(last_s, Cause.CUT_OFF)
    assert watch.window is not None
    return watch.window
