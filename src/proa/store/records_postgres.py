"""Request records in PostgreSQL: two tables, `proa_requests` and `proa_admin_actions`."""

from collections.abc import Sequence
from typing import Any

from proa.domain.request_record import AdminAction, KeptRequest
from proa.store.postgres import Postgres
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

_LOCK = 7_766_177


def _table(name: str, columns: tuple[tuple[str, str], ...]) -> str:
    parts = ", ".join(f"{column} {kind}" for column, kind in columns)
    return f"CREATE TABLE IF NOT EXISTS {name} (id BIGSERIAL PRIMARY KEY, {parts})"


class PostgresRecords:
    """Connects when it is needed.

    Raises:
        InputError: the package psycopg is not installed.
        RecordsFault: the database cannot be reached (at the first use, not at the opening).
    """

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        prepare = None if read_only else _prepare
        self._database = Postgres(url, "records", fault=RecordsFault, prepare=prepare, lock=_LOCK)

    def write(self, requests: Sequence[KeptRequest], actions: Sequence[AdminAction] = ()) -> None:
        def insert(cursor: Any) -> None:
            cursor.executemany(_insert("proa_requests", COLUMNS), list(map(row_of, requests)))
            rows = list(map(action_row_of, actions))
            cursor.executemany(_insert("proa_admin_actions", ACTION_COLUMNS), rows)

        self._database.do(insert)

    def requests(self, query: RecordQuery) -> list[KeptRequest]:
        where, values = conditions(query, "%s")
        text = f"SELECT {NAMES} FROM proa_requests {where} ORDER BY ended_s DESC, id DESC LIMIT %s"
        rows = self._database.do(
            lambda cursor: cursor.execute(text, [*values, query.limit]).fetchall()
        )
        return [kept_of(row) for row in rows]

    def actions(self, query: RecordQuery) -> list[AdminAction]:
        times = RecordQuery(since_s=query.since_s, until_s=query.until_s)
        where, values = conditions(times, "%s")
        where = where.replace("ended_s", "at_s")
        text = f"SELECT {ACTION_NAMES} FROM proa_admin_actions {where} ORDER BY at_s DESC LIMIT %s"
        rows = self._database.do(
            lambda cursor: cursor.execute(text, [*values, query.limit]).fetchall()
        )
        return [action_of(row) for row in rows]

    def forget_before(self, time_s: float, *, at_most: int) -> int:
        def delete(cursor: Any) -> int:
            deleted = 0
            for table, column in (("proa_requests", "ended_s"), ("proa_admin_actions", "at_s")):
                oldest = f"SELECT id FROM {table} WHERE {column} < %s ORDER BY {column} LIMIT %s"
                text = f"DELETE FROM {table} WHERE id IN ({oldest})"
                deleted += cursor.execute(text, (time_s, at_most - deleted)).rowcount
            return deleted

        return int(self._database.do(delete))

    def close(self) -> None:
        self._database.close()


def _prepare(cursor: Any) -> None:
    cursor.execute(_table("proa_requests", COLUMNS))
    cursor.execute(_table("proa_admin_actions", ACTION_COLUMNS))
    for name, of in (("time", "ended_s"), ("tenant", "tenant, ended_s"), ("id", "request_id")):
        index = f"CREATE INDEX IF NOT EXISTS proa_requests_by_{name}"
        cursor.execute(f"{index} ON proa_requests ({of})")


def _insert(table: str, columns: tuple[tuple[str, str], ...]) -> str:
    names = ", ".join(name for name, _ in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(columns))})"
