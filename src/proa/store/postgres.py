"""A connection to PostgreSQL that fails in time, and is made anew after a fault."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any

from proa.errors import InputError, UpstreamError

_CONNECT_S = 3
_STATEMENT_MS = 5_000
_ANSWER_S = 6.0  # a server that hangs, or a network that is gone, keeps to no statement_timeout

Prepare = Callable[[Any], None]


class Postgres:
    """`what` is kept there, for messages; `fault` is what its failures are told as.

    `prepare` makes the tables when it connects, None where only reading is asked for; several
    gateways may do so at once, one after the other by the advisory lock `lock`.

    Raises:
        InputError: the package psycopg is not installed.
    """

    def __init__(
        self, url: str, what: str, *, fault: type[UpstreamError], prepare: Prepare | None, lock: int
    ) -> None:
        try:
            import psycopg
        except ImportError as error:
            told = f"{what} in PostgreSQL needs the package psycopg: pip install 'proa[postgres]'"
            raise InputError(told) from error
        self._psycopg = psycopg
        self._url = url
        self._what = what
        self._fault = fault
        self._prepare = prepare
        self._lock = lock
        self._connection: Any = None

    def do(self, act: Callable[[Any], Any]) -> Any:
        """`act` with a cursor, in one transaction; after a fault the next one connects anew.

        Raises:
            UpstreamError: of the kind `fault`; the database cannot be reached, or refuses.
        """
        try:
            if self._connection is None:
                self._connection = self._connect()
            with _in_time(self._connection), self._connection.transaction():
                return act(self._connection.cursor())
        except self._psycopg.Error as error:
            self.close()
            told = str(error).strip().partition("\n")[0]  # psycopg tells no password
            raise self._fault(f"the {self._what}'s PostgreSQL: {told}") from error

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

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
        if self._prepare is not None:
            with _in_time(connection), connection.transaction(), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (self._lock,))
                self._prepare(cursor)
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
