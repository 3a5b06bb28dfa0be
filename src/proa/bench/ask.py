"""Single requests outside of a load: probes, model lists, metrics pages."""

import asyncio
import time

from proa.bench.arrival_clock import ArrivalClock
from proa.bench.client import TargetClient
from proa.bench.connection import ClientConnection, OnEnd, opened
from proa.bench.raw import Asked, RawEnd, RawExchange
from proa.bench.target import TargetSpec, address_of, get_head, tls_context
from proa.wire.response_parser import ResponseError, ResponseParser

_TIMEOUT_S = 10.0


class _Once:
    """The pool of a single connection."""

    def freed(self, connection: ClientConnection) -> None:
        connection.transport.close()

    def lost(self, connection: ClientConnection) -> None:
        """Nothing is kept."""

    def unserved(self, raw: RawExchange, request: bytes, on_end: OnEnd) -> None:
        """Never called: no connection is used twice."""


async def get(target: TargetSpec, path: str, *, timeout_s: float = _TIMEOUT_S) -> tuple[int, bytes]:
    """Status and body of a GET.

    Raises:
        OSError: no connection, no answer in time, or a broken one.
    """
    address = address_of(target.url)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[RawExchange] = loop.create_future()
    async with asyncio.timeout(timeout_s):
        connection = await opened(_Once(), address, tls_context(target), ArrivalClock())
        raw = RawExchange(Asked(0, 0, 0), time.monotonic(), times=[], reads=[])
        try:
            connection.begin(raw, get_head(target, path), ended.set_result)
            await asyncio.shield(ended)  # its end comes all the same, after the abort
        finally:
            connection.transport.abort()
    return whole_answer(raw, path)


def whole_answer(raw: RawExchange, path: str) -> tuple[int, bytes]:
    """Status and body of an exchange.

    Raises:
        OSError: it is broken or cut off.
    """
    parser = ResponseParser(head_request=False)
    try:
        for data in raw.reads:
            parser.feed(data)
    except ResponseError as error:
        raise OSError(str(error)) from None
    parser.end_of_connection()
    if not parser.complete:
        raise OSError(f"{path}: the answer is not whole")
    return parser.status, b"".join(parser.pieces)


async def post(target: TargetSpec, body: bytes, *, timeout_s: float) -> RawExchange:
    """One request of the load's kind, however it ends.

    Raises:
        OSError: no connection.
    """
    client = TargetClient(target)
    await client.open(1)
    ended: asyncio.Future[RawExchange] = asyncio.get_running_loop().create_future()
    raw = RawExchange(Asked(0, 0, 0), time.monotonic(), times=[], reads=[])
    client.send(raw, body, ended.set_result)
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.shield(ended)
    except TimeoutError:
        raw.end = RawEnd.TIMEOUT
    finally:
        client.stop()
    return raw
