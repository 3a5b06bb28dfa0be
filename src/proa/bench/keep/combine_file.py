"""A combination in its file: visits as a run's, and what each was a block of."""

import sqlite3

from proa.bench.combine.run import CombineEnd, CombineResult, CombineStart, block_of
from proa.bench.combine.spec import Block
from proa.bench.keep.read_about import started
from proa.bench.keep.read_run import whole_visits
from proa.bench.keep.row_file import RowFile
from proa.bench.keep.run_file import RunFile

KIND = "combine"


class CombineFile:
    """Keeps blocks in `file`, whose closing is the caller's; `visits` is to be told of each."""

    def __init__(self, file: RowFile) -> None:
        self.visits = RunFile(file)
        self._file = file
        self._blocks = 0

    def started(self, start: CombineStart, origin_s: float) -> None:
        """Targets are prepared; `origin_s` is the zero of all times."""
        self.visits.begin(KIND, start, origin_s)

    def block(self, block: Block) -> None:
        """The visit was a whole block; blocks are numbered as their visits are."""
        self._file.add("blocks", [(self._blocks, block.round, block.part)])
        self._blocks += 1


def read_combine(connection: sqlite3.Connection) -> CombineResult:
    """Of whole blocks; one that was cut off reads as interrupted."""
    start, end = started(connection, CombineStart, CombineEnd)
    of = {level: (index, part) for level, index, part in connection.execute("SELECT * FROM blocks")}
    whole = [visit for visit in whole_visits(connection) if visit.label.level in of]
    blocks = [block_of(visit, *of[visit.label.level]) for visit in whole]
    if end is None:
        took_s = max((block.window.end_s for block in blocks), default=0.0)
        end = CombineEnd(is_interrupted=True, took_s=took_s)
    return CombineResult(start, blocks, end)
