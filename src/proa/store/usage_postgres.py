"""Usage in PostgreSQL, for any number of gateways: `proa_usage` and `proa_usage_live`."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any

from proa.errors import InputError
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

_CONNECT_S = 3
_STATEMENT_MS = 5_000
_ANSWER_S = 6.0  # a server that hangs, or a network that is gone, keeps to no statement_timeout
_PREPARE_LOCK = 7_766_178  # several gateways may start at once
_PREFIX = "proa_"
_NOW = "EXTRACT(EPOCH FROM clock_timestamp())"


class PostgresUsage:
    """A connection that is made when it is needed, and anew after a fault.

    Raises:
        InputError: the package psycopg is not installed.
        UsageFault: the database cannot be reached (at the first use, not at the opening).
    """

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        try:
            import psycopg
        except ImportError as error:
            what = "usage in PostgreSQL needs the package psycopg: pip install 'proa[postgres]'"
            raise InputError(what) from error
        self._psycopg = psycopg
        self._url = url
        self._read_only = read_only
        self._connection: Any = None

    def sync(self, report: Report) -> list[Standing]:
        month, minute = map(_marked, standing_texts(_PREFIX, _NOW))
        of_month, of_minute = standing_values(report)

        def act(cursor: Any) -> list[Standing]:
            if report.counts:
                cursor.executemany(_marked(put_text(_PREFIX)), put_values(report))
            if report.live:
                cursor.executemany(_marked(live_text(_PREFIX, _NOW)), live_values(report))
                cursor.execute(forget_text(_PREFIX, _NOW))
            months = cursor.execute(month, of_month).fetchall()
            return standings(months, cursor.execute(minute, of_minute).fetchall())

        done: list[Standing] = self._do(act)
        return done

    def days(self, since: int, until: int) -> list[UsageCount]:
        text, values = _marked(days_text(_PREFIX)), (iso(since), iso(until))
        return list(map(count_of, self._do(lambda c: c.execute(text, values).fetchall())))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _do(self, act: Callable[[Any], Any]) -> Any:
        """One transaction; after a fault the next one connects anew."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            with _in_time(self._connection), self._connection.transaction():
                return act(self._connection.cursor())
        except self._psycopg.Error as error:
            self.close()
            told = str(error).strip().partition("\n")[0]  # psycopg tells no password
            raise UsageFault(f"the usage's PostgreSQL: {told}") from error

    def _connect(self) -> Any:
        connection = self._psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=_CONNECT_S,
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=2,
            tcp_user_timeout=_STATEMENT_MS,  # a server whose network is gone holds nobody up
            options=f"-c statement_timeout={_STATEMENT_MS}",
        )
        if not self._read_only:
            with _in_time(connection), connection.transaction(), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_PREPARE_LOCK,))
                for text in table_texts(_PREFIX):
                    cursor.execute(text)
        return connection


@contextmanager
def _in_time(connection: Any) -> Iterator[None]:
    """Cut a connection off whose server does not answer, so that what waits for it fails."""
    ours = socket.socket(fileno=os.dup(connection.fileno()))  # stays ours if psycopg closes its own
    timer = Timer(_ANSWER_S, _cut, (ours,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        ours.close()


def _cut(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def _marked(text: str) -> str:
    return text.replace("?", "%s")
