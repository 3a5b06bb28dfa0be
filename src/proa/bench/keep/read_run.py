"""A run's file read back: all numbers are computed again from what was seen."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from proa.bench.decode import VisitLabel
from proa.bench.gauge_stats import GaugeSample
from proa.bench.keep.rows import COLUMNS, row_sample, row_tick
from proa.bench.keep.schema import open_run
from proa.bench.process_messages import Tick
from proa.bench.run import LevelVisit, RunResult, RunStart, drift_of, level_visit
from proa.bench.run_spec import LevelSpec, RunSpec
from proa.bench.sample import RequestSample
from proa.bench.visit import visit_result
from proa.bench.window import Cause, LevelWatch, LevelWindow
from proa.domain.load import EngineLoad
from proa.errors import InputError

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


def read_run(path: Path) -> RunResult:
    """Raises InputError: no run of this version, or one that is damaged."""
    connection = open_run(path)
    try:
        return _read(connection, str(path))
    except (sqlite3.Error, msgspec.MsgspecError, KeyError, TypeError) as error:
        raise InputError(f"{path}: the file is damaged ({error})") from None
    finally:
        connection.close()


def _read(connection: sqlite3.Connection, name: str) -> RunResult:
    about = dict(connection.execute("SELECT key, value FROM about").fetchall())
    if "start" not in about:
        raise InputError(f"{name}: the run ended before its first level; nothing was measured")
    start = msgspec.json.decode(about["start"], type=RunStart)
    gauges = [
        GaugeSample(*row)
        for row in connection.execute("SELECT at_s, source, name, value FROM gauges ORDER BY rowid")
    ]
    rows = connection.execute("SELECT * FROM visits ORDER BY level").fetchall()
    visits = []
    for row in map(VisitRow._make, rows):
        visit = _visit(connection, row, start.spec, gauges)
        if visit is not None:
            visits.append(visit)
    finished = "finished_unix_s" in about
    told = msgspec.json.decode(about.get("stopped", "null"), type=Cause | None)
    return RunResult(
        start=start,
        visits=visits,
        gauges=gauges,
        stopped=told if finished else Cause.CUT_OFF,
        drift=drift_of(visits),
    )


def _visit(
    connection: sqlite3.Connection, row: VisitRow, spec: RunSpec, gauges: Sequence[GaugeSample]
) -> LevelVisit | None:
    """None where nothing was seen of it."""
    seen = _seen(connection, row.level)
    if not seen:
        return None
    samples = [each[1] for each in seen if len(each) == 3]
    ticks = [each[1] for each in seen if len(each) == 2]
    label = VisitLabel(row.level, row.users, row.rate)
    result = visit_result(
        label,
        samples,
        ticks,
        _window(row) or window_of_cut(seen, row, spec),
        next_number=row.next_number or 0,
    )
    after = _engines.decode(row.engines_after) if row.engines_after else []
    before = _engines.decode(row.engines_before) if after else []
    level = LevelSpec(row.users, row.rate)
    return level_visit(level, result, (before, after), spec=spec, gauges=gauges)


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


def window_of_cut(seen: Seen, row: VisitRow, spec: RunSpec) -> LevelWindow:
    """Of a visit that was cut off: what the watch over it would say, had it ended there."""
    shares = {each[1].share for each in seen if len(each) == 2}
    watch = LevelWatch(
        spec.window, begin_s=row.begin_s, users=row.users, shares=max(shares, default=0) + 1
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
