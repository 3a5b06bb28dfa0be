"""Usage in one SQLite file, in WAL mode; for one gateway."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from proa.store.usage import Report, Standing, UsageCount, UsageFault, iso
from proa.store.usage_sql import (
    count_of,
    days_text,
    forget_text,
    live_text,
    live_values,
    put_text,
    put_values,
    standing_texts,
    standing_values,
    standings,
    table_texts,
)

FORMAT = 1
_BUSY_S = 5.0
_NOW = "((julianday('now') - 2440587.5) * 86400.0)"


class SqliteUsage:
    """A file that only this user may read; it is made where it is missing.

    Raises:
        UsageFault: the file cannot be opened, or is of another format.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        try:
            self._database = self._open(read_only)
        except (OSError, sqlite3.Error) as error:
            told = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise UsageFault(f"{path} cannot be opened: {told}") from error

    def _open(self, read_only: bool) -> sqlite3.Connection:
        address = self._path.absolute().as_uri()
        if read_only:
            address += "?mode=ro"
        else:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        database = sqlite3.connect(address, uri=True, timeout=_BUSY_S, check_same_thread=False)
        try:
            found = database.execute("PRAGMA user_version").fetchone()[0]
            if found > FORMAT or (read_only and not found):
                what = f"is of format {found}" if found else "holds no usage"
                raise UsageFault(f"{self._path} {what}; accepted is format {FORMAT}")
            if not read_only:
                _prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def sync(self, report: Report) -> list[Standing]:
        database = self._database
        month, minute = standing_texts("", _NOW)
        of_month, of_minute = standing_values(report)
        try:
            with database:
                if report.counts:
                    database.executemany(put_text(""), put_values(report))
                if report.live:
                    database.executemany(live_text("", _NOW), live_values(report))
                    database.execute(forget_text("", _NOW))
            with (
                closing(database.execute(month, of_month)) as months,
                closing(database.execute(minute, of_minute)) as minutes,
            ):
                return standings(months, minutes)
        except sqlite3.Error as error:
            raise UsageFault(f"{self._path} cannot be written: {error}") from error

    def days(self, since: int, until: int) -> list[UsageCount]:
        try:
            values = (iso(since), iso(until))
            with closing(self._database.execute(days_text(""), values)) as cursor:
                return [count_of(row) for row in cursor]
        except sqlite3.Error as error:
            raise UsageFault(f"{self._path} cannot be read: {error}") from error

    def close(self) -> None:
        self._database.close()


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")  # a second may be lost with the power
    with database:
        for text in table_texts(""):
            database.execute(text)
        database.execute(f"PRAGMA user_version = {FORMAT}")
