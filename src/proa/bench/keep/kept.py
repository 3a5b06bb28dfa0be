"""A kept file with what identifies it: where it is, how large, its digest, its document."""

import sqlite3
from collections.abc import Callable, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

import msgspec

from proa.bench.keep import combine_file, compare_file, import_file, quality_file, run_file
from proa.bench.keep.combine_file import read_combine
from proa.bench.keep.compare_file import read_compare
from proa.bench.keep.import_file import read_import
from proa.bench.keep.quality_file import read_quality
from proa.bench.keep.read_about import kind_of, opened
from proa.bench.keep.read_run import read_run


class Kept(msgspec.Struct, frozen=True):
    """A measurement that was read back; `rows` are requests or answers, warm-up too."""

    path: Path
    size_bytes: int
    sha256: str
    kind: str
    rows: int
    result: Any


READERS: Mapping[str, Callable[[sqlite3.Connection], Any]] = {
    run_file.KIND: read_run,
    compare_file.KIND: read_compare,
    combine_file.KIND: read_combine,
    quality_file.KIND: read_quality,
    import_file.KIND: read_import,
}


def kept(path: Path) -> Kept:
    """Raises InputError: no file of this version, or one that is damaged."""
    with opened(path) as connection:
        kind = kind_of(connection)
        result = READERS[kind](connection)
        counts = connection.execute(
            "SELECT (SELECT count(*) FROM requests) + (SELECT count(*) FROM answers)"
        )
        rows = int(counts.fetchone()[0])
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return Kept(path, path.stat().st_size, digest, kind, rows, result)
