"""Request records in one SQLite file, in WAL mode: readers do not hold up the writer."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from proa.domain.request_record import AdminAction, KeptRequest
from proa.store.records import (
    ACTION_COLUMNS,
    ACTION_NAMES,
    COLUMNS,
    NAMES,
    RecordQuery,
    RecordsFault,
    action_of,
    action_row_of,
    conditions,
    kept_of,
    row_of,
)

FORMAT = 1
_BUSY_S = 5.0


def _table(name: str, columns: tuple[tuple[str, str], ...]) -> str:
    parts = ", ".join(f"{column} {kind}" for column, kind in columns)
    return f"CREATE TABLE IF NOT EXISTS {name} (id INTEGER PRIMARY KEY, {parts})"


class SqliteRecords:
    """A file that only this user may read; it is made where it is missing.

    Raises:
        RecordsFault: the file cannot be opened, or is of another format.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        try:
            self._database = self._open(read_only)
        except (OSError, sqlite3.Error) as error:
            raise RecordsFault(f"{path} cannot be opened: {_reason(error)}") from error

    def _open(self, read_only: bool) -> sqlite3.Connection:
        if read_only:
            address = f"{self._path.absolute().as_uri()}?mode=ro"
        else:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            address = self._path.absolute().as_uri()
        database = sqlite3.connect(address, uri=True, timeout=_BUSY_S, check_same_thread=False)
        try:
            found = database.execute("PRAGMA user_version").fetchone()[0]
            if found > FORMAT or (read_only and not found):
                what = f"is of format {found}" if found else "holds no request records"
                raise RecordsFault(f"{self._path} {what}; accepted is format {FORMAT}")
            if not read_only:
                _prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def write(self, requests: Sequence[KeptRequest], actions: Sequence[AdminAction] = ()) -> None:
        database = self._database
        try:
            with database:
                database.executemany(_insert("requests", COLUMNS), map(row_of, requests))
                database.executemany(
                    _insert("admin_actions", ACTION_COLUMNS), map(action_row_of, actions)
                )
        except sqlite3.Error as error:
            raise RecordsFault(f"{self._path} cannot be written: {error}") from error

    def requests(self, query: RecordQuery) -> list[KeptRequest]:
        where, values = conditions(query, "?")
        text = f"SELECT {NAMES} FROM requests {where} ORDER BY ended_s DESC, id DESC LIMIT ?"
        return [kept_of(row) for row in self._rows(text, [*values, query.limit])]

    def actions(self, query: RecordQuery) -> list[AdminAction]:
        times = RecordQuery(since_s=query.since_s, until_s=query.until_s)
        where, values = conditions(times, "?")
        where = where.replace("ended_s", "at_s")
        text = f"SELECT {ACTION_NAMES} FROM admin_actions {where} ORDER BY at_s DESC LIMIT ?"
        return [action_of(row) for row in self._rows(text, [*values, query.limit])]

    def forget_before(self, time_s: float, *, at_most: int) -> int:
        database, deleted = self._database, 0
        try:
            with database:
                for table, column in (("requests", "ended_s"), ("admin_actions", "at_s")):
                    oldest = f"SELECT id FROM {table} WHERE {column} < ? ORDER BY {column} LIMIT ?"
                    text = f"DELETE FROM {table} WHERE id IN ({oldest})"
                    deleted += database.execute(text, (time_s, at_most - deleted)).rowcount
        except sqlite3.Error as error:
            raise RecordsFault(f"{self._path} cannot be written: {error}") from error
        return deleted

    def close(self) -> None:
        self._database.close()

    def _rows(self, text: str, values: list[object]) -> list[tuple[object, ...]]:
        try:
            with closing(self._database.execute(text, values)) as cursor:
                return cursor.fetchall()
        except sqlite3.Error as error:
            raise RecordsFault(f"{self._path} cannot be read: {error}") from error


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")  # a batch may be lost with the power, no more
    with database:
        database.execute(_table("requests", COLUMNS))
        database.execute(_table("admin_actions", ACTION_COLUMNS))
        database.execute("CREATE INDEX IF NOT EXISTS by_time ON requests (ended_s)")
        database.execute("CREATE INDEX IF NOT EXISTS by_tenant ON requests (tenant, ended_s)")
        database.execute("CREATE INDEX IF NOT EXISTS by_id ON requests (request_id)")
        database.execute(f"PRAGMA user_version = {FORMAT}")


def _insert(table: str, columns: tuple[tuple[str, str], ...]) -> str:
    names = ", ".join(name for name, _ in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
