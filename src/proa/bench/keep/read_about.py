"""What a kept file says of itself: its kind, how it began, how it ended."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from proa.bench.keep.schema import open_run
from proa.errors import InputError

S = TypeVar("S")
E = TypeVar("E")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A kept file for reading.

    Raises:
        InputError: none of this version, or one that is damaged.
    """
    connection = open_run(path)
    try:
        yield connection
    except (sqlite3.Error, msgspec.MsgspecError, KeyError, TypeError) as error:
        raise InputError(f"{path}: the file is damaged ({error})") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    finally:
        connection.close()


def kind_of(connection: sqlite3.Connection) -> str:
    """Raises InputError: it ended before anything was measured."""
    return msgspec.json.decode(_about(connection)["kind"], type=str)


def started(connection: sqlite3.Connection, start: type[S], end: type[E]) -> tuple[S, E | None]:
    """How it began and ended; no end where it was cut off."""
    about = _about(connection)
    told = about.get("end")
    ended = None if told is None else msgspec.json.decode(told, type=end)
    return msgspec.json.decode(about["start"], type=start), ended


def _about(connection: sqlite3.Connection) -> dict[str, str]:
    about = dict(connection.execute("SELECT key, value FROM about").fetchall())
    if "start" not in about:
        raise InputError("it ended before its first measurement; nothing was measured")
    return about
