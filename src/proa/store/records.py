"""Where request records are kept: the interface, the columns, and who opens what."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from proa.domain.request_record import AdminAction, KeptRequest, RequestRecord
from proa.errors import FieldError, UpstreamError

Status = int | Literal["4xx", "5xx", "errors"]
ACCEPTED = "sqlite:FILE or postgresql://USER@HOST/DATABASE"
_SQLITE = "sqlite:"
_POSTGRES = ("postgresql://", "postgres://")


class RecordsFault(UpstreamError):
    """The database of the records could not do what it was asked for."""


class RecordQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which records: from `since_s` on and before `until_s` (Unix time); None takes all.

    The newest `limit` come, newest first; `pii` takes those in which something was found.
    """

    since_s: float | None = None
    until_s: float | None = None
    tenant: str | None = None
    key: str | None = None
    model: str | None = None
    route: str | None = None
    engine: str | None = None
    request_id: str | None = None
    outcome: str | None = None
    status: Status | None = None
    pii: bool = False
    limit: int = 100


class RecordStore(Protocol):
    """One database of records. Every call may wait: none belongs on an event loop.

    Raises:
        RecordsFault: the database cannot be reached, is full, or refuses.
    """

    def write(self, requests: Sequence[KeptRequest], actions: Sequence[AdminAction] = ()) -> None:
        """All of them or none."""

    def requests(self, query: RecordQuery) -> list[KeptRequest]: ...

    def actions(self, query: RecordQuery) -> list[AdminAction]:
        """Of the query, the times and the limit count."""

    def forget_before(self, time_s: float, *, at_most: int) -> int:
        """Delete the oldest before a time; how many were deleted."""

    def close(self) -> None: ...


def open_records(url: str, *, read_only: bool = False) -> RecordStore:
    """The store behind a URL; nothing is made where only reading is asked for.

    Raises:
        FieldError: no such kind of store.
        RecordsFault: it cannot be opened.
    """
    if url.startswith(_SQLITE):
        from proa.store.records_sqlite import SqliteRecords

        return SqliteRecords(Path(url.removeprefix(_SQLITE)), read_only=read_only)
    if url.startswith(_POSTGRES):
        from proa.store.records_postgres import PostgresRecords

        return PostgresRecords(url, read_only=read_only)
    raise FieldError("records.store", url.partition("://")[0], ACCEPTED)


COLUMNS: tuple[tuple[str, str], ...] = (
    ("ended_s", "DOUBLE PRECISION NOT NULL"),
    ("request_id", "TEXT NOT NULL"),
    ("method", "TEXT NOT NULL"),
    ("path", "TEXT NOT NULL"),
    ("status", "INTEGER NOT NULL"),
    ("outcome", "TEXT NOT NULL"),
    ("duration_ms", "DOUBLE PRECISION NOT NULL"),
    ("key", "TEXT"),
    ("tenant", "TEXT"),
    ("model", "TEXT"),
    ("route", "TEXT"),
    ("engine", "TEXT"),
    ("decision", "TEXT"),
    ("queued_ms", "DOUBLE PRECISION"),
    ("ttft_ms", "DOUBLE PRECISION"),
    ("bytes_in", "BIGINT NOT NULL"),
    ("bytes_out", "BIGINT NOT NULL"),
    ("prompt_tokens", "BIGINT"),
    ("completion_tokens", "BIGINT"),
    ("retries", "INTEGER NOT NULL"),
    ("hedged", "TEXT"),
    ("stream", "INTEGER NOT NULL"),
    ("pii", "TEXT"),
)
"""Name and SQL type, the same in every database; `pii` is JSON."""

ACTION_COLUMNS: tuple[tuple[str, str], ...] = (
    ("at_s", "DOUBLE PRECISION NOT NULL"),
    ("who", "TEXT NOT NULL"),
    ("method", "TEXT NOT NULL"),
    ("path", "TEXT NOT NULL"),
    ("status", "INTEGER NOT NULL"),
    ("detail", "TEXT NOT NULL"),
)
NAMES = ", ".join(name for name, _ in COLUMNS)
ACTION_NAMES = ", ".join(name for name, _ in ACTION_COLUMNS)
_RECORD_FIELDS = RequestRecord.__struct_fields__


def row_of(kept: KeptRequest) -> tuple[object, ...]:
    """The values of `COLUMNS`; texts without what no database takes (NUL, half surrogates)."""
    record = kept.record
    values: dict[str, object] = {name: getattr(record, name) for name in _RECORD_FIELDS}
    values["ended_s"] = kept.ended_s
    values["stream"] = int(record.stream)
    values["pii"] = msgspec.json.encode(record.pii).decode() if record.pii else None
    return tuple(_storable(values[name]) for name, _ in COLUMNS)


def action_row_of(action: AdminAction) -> tuple[object, ...]:
    """The values of `ACTION_COLUMNS`."""
    return tuple(_storable(getattr(action, name)) for name, _ in ACTION_COLUMNS)


def kept_of(row: Sequence[object]) -> KeptRequest:
    """The record of a row with the values of `COLUMNS`."""
    values = dict(zip((name for name, _ in COLUMNS), row, strict=True))
    ended_s = values.pop("ended_s")
    pii = values["pii"]
    values["pii"] = msgspec.json.decode(str(pii)) if pii else None
    values["stream"] = bool(values["stream"])
    record = msgspec.convert(values, RequestRecord)
    return msgspec.convert({"ended_s": ended_s, "record": record}, KeptRequest)


def action_of(row: Sequence[object]) -> AdminAction:
    """The action of a row with the values of `ACTION_COLUMNS`."""
    return msgspec.convert(
        dict(zip((name for name, _ in ACTION_COLUMNS), row, strict=True)), AdminAction
    )


def conditions(query: RecordQuery, mark: str) -> tuple[str, list[object]]:
    """The query's WHERE, and its values; `mark` stands for a value (`?` or `%s`)."""
    parts: list[str] = []
    values: list[object] = []
    bounds = (("ended_s >=", query.since_s), ("ended_s <", query.until_s))
    names = ("tenant", "key", "model", "route", "engine", "request_id", "outcome")
    equal = ((f"{name} =", getattr(query, name)) for name in names)
    for words, value in (*bounds, *equal):
        if value is not None:
            parts.append(f"{words} {mark}")
            values.append(value)
    if isinstance(query.status, int):
        parts.append(f"status = {mark}")
        values.append(query.status)
    elif query.status is not None:
        low, high = {"4xx": (400, 500), "5xx": (500, 600), "errors": (400, 600)}[query.status]
        parts.append(f"status >= {mark} AND status < {mark}")
        values += [low, high]
    if query.pii:
        parts.append("pii IS NOT NULL")
    return (f"WHERE {' AND '.join(parts)}" if parts else ""), values


def _storable(value: object) -> object:
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
