"""A comparison in its file: pairs of two requests, written after each round."""

import sqlite3
from collections.abc import Iterable, Sequence

from proa.bench.compare.run import CompareEnd, CompareResult, CompareStart, Stopped
from proa.bench.compare.spec import PairSample
from proa.bench.keep.read_about import started
from proa.bench.keep.row_file import RowFile
from proa.bench.keep.rows import COLUMNS, row_sample, sample_row
from proa.bench.sample import RequestSample

KIND = "compare"


class CompareFile:
    """Keeps pairs in `file`, whose closing is the caller's."""

    def __init__(self, file: RowFile) -> None:
        self._file = file
        self._pairs = 0

    def started(self, start: CompareStart) -> None:
        """Targets are prepared."""
        self._file.start(KIND, start)

    def rounds(self, pairs: Sequence[PairSample]) -> None:
        """All pairs so far; what is new is written."""
        for number, pair in enumerate(pairs[self._pairs :], self._pairs):
            seqs = 2 * number, 2 * number + 1
            told = (pair.round, pair.tokens, pair.direct_first, pair.is_warmup, pair.is_probe)
            self._file.add("pairs", [(number, *told, *seqs)])
            for seq, sample in zip(seqs, pair.sides, strict=True):
                self._file.add("requests", [sample_row(seq, sample, sample.end_s or 0.0)])
        self._pairs = len(pairs)
        self._file.flush()


def read_compare(connection: sqlite3.Connection) -> CompareResult:
    """One that was cut off reads as interrupted."""
    start, end = started(connection, CompareStart, CompareEnd)
    asked = f"SELECT {', '.join(COLUMNS)} FROM requests"
    requests = {row[0]: row_sample(row) for row in connection.execute(asked)}
    pairs = [
        PairSample(
            round=index, tokens=tokens, direct_first=bool(first), is_warmup=bool(warmup),
            is_probe=bool(probe), direct=requests[direct], gateway=requests[gateway],
        )
        for index, tokens, first, warmup, probe, direct, gateway in connection.execute(
            "SELECT round, tokens, direct_first, is_warmup, is_probe, direct, gateway "
            "FROM pairs ORDER BY seq"
        )
    ]  # fmt: skip
    if end is None:
        end = CompareEnd(stopped=Stopped.INTERRUPTED, took_s=_last_s(requests.values()))
    return CompareResult(start, pairs, end)


def _last_s(samples: Iterable[RequestSample]) -> float:
    return max((sample.end_s or sample.sent_s for sample in samples), default=0.0)
