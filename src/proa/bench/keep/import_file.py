"""Requests of other tools' files, kept as ours; levels are numbered in the order of the files."""

import sqlite3

import msgspec

from proa.bench.keep.read_about import started
from proa.bench.keep.row_file import RowFile
from proa.bench.keep.rows import COLUMNS, row_sample, sample_row
from proa.bench.restate.document import ImportEnd, ImportResult, ImportStart, without_requests
from proa.bench.restate.restated import Restated
from proa.bench.sample import RequestSample

KIND = "import"


def write_import(file: RowFile, result: ImportResult) -> None:
    """All of it at once."""
    file.start(KIND, ImportStart(result.files, without_requests(result.levels)))
    seq = 0
    for number, level in enumerate(result.levels):
        for sample in level.samples:
            seq += 1
            own = msgspec.structs.replace(sample, level=number)
            file.add("requests", [sample_row(seq, own, own.end_s or own.sent_s)])


def read_import(connection: sqlite3.Connection) -> ImportResult:
    """As it was written."""
    start, _ = started(connection, ImportStart, ImportEnd)
    samples: dict[int, list[RequestSample]] = {}
    asked = f"SELECT {', '.join(COLUMNS)} FROM requests ORDER BY seq"
    for row in connection.execute(asked):
        sample = row_sample(row)
        samples.setdefault(sample.level, []).append(sample)
    return ImportResult(
        start.files,
        [_with(level, samples.get(number, [])) for number, level in enumerate(start.levels)],
    )


def _with(level: Restated, samples: list[RequestSample]) -> Restated:
    return msgspec.structs.replace(level, samples=samples)
