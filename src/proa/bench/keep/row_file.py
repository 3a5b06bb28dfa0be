"""A kept file as it is written: rows wait in memory and go to the disk together, all or nothing.

Killed, it keeps all that was flushed. A full disk does not end the measurement: rows wait and are
tried again; what could not be written is told at the end.
"""

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from proa.bench.keep.rows import COLUMNS, placeholders
from proa.bench.keep.schema import create
from proa.bench.keep.without_secrets import without_secrets

_INSERTS = {
    "about": "INSERT OR REPLACE INTO about VALUES (?, ?)",
    "visits": "INSERT OR REPLACE INTO visits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "requests": f"INSERT INTO requests ({', '.join(COLUMNS)}) VALUES ({placeholders(COLUMNS)})",
    "ticks": "INSERT INTO ticks VALUES (?, ?, ?, ?, ?)",
    "gauges": "INSERT INTO gauges VALUES (?, ?, ?, ?)",
    "pairs": "INSERT INTO pairs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "blocks": "INSERT OR REPLACE INTO blocks VALUES (?, ?, ?)",
    "answers": "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
}


class RowFile:
    """An open file; `close` it whatever happens. `fault` says what could not be written."""

    def __init__(self, path: Path) -> None:
        """Raises InputError: there is such a file, or it cannot be written."""
        self.path = path
        self.fault: str | None = None
        self._connection: sqlite3.Connection | None = create(path)
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _INSERTS}
        self._is_started = False

    @property
    def waiting(self) -> int:
        """Rows that are not in the file yet."""
        return sum(map(len, self._rows.values()))

    def start(self, kind: str, start: object) -> None:
        """What is known before anything is measured; without it there is nothing to keep."""
        self._is_started = True
        self._about("kind", kind)
        self._about("start", without_secrets(start))
        self.flush()

    def add(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows of a table, in the order of its columns."""
        self._rows[table] += rows

    def end(self, end: object) -> None:
        """The measurement ended by itself, or said why not; else the file is one cut off."""
        self._about("end", end)

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

    def sync(self) -> None:
        """Wait until the disk has it; never while a request is under way."""
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

    def close(self) -> None:
        """Write the rest and close; a file without a measurement in it is taken away.

        `fault` and `waiting` tell what is lost.
        """
        if self._connection is None:
            return
        self.flush()
        self.sync()
        self._connection.close()
        self._connection = None
        if not self._is_started:
            self.path.unlink()

    def _about(self, key: str, value: object) -> None:
        self._rows["about"].append((key, as_text(value)))


def as_text(value: object) -> str:
    """JSON as it stands in a column."""
    return msgspec.json.encode(value).decode()
