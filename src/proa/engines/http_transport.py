"""HTTP/1.1 to one engine for questions: whole answers over kept connections, by llhttp.

Probes go out several times a second to every engine, and httpx's own client costs five
times as much. Errors are httpx's, so that a test's transport may stand in for this one.
"""

import asyncio
import os
import re
from typing import cast

import httptools
import httpx

from proa.domain.fleet import EngineSpec
from proa.engines.door import EngineDoor, door_key

_ERRNO = re.compile(r"\[Errno (\d+)\]")
_FRAMED = (b"content-length", b"transfer-encoding")


class HttpTransport(httpx.AsyncBaseTransport):
    """Connections to one engine; more than `max_body_bytes` of an answer are not read."""

    def __init__(self, spec: EngineSpec, *, max_body_bytes: int) -> None:
        self._door = EngineDoor(spec)
        self._max_body_bytes = max_body_bytes
        self._idle: list[_Connection] = []

    def take(self, spec: EngineSpec) -> None:
        """Connect by other words about the engine from now on, if they differ."""
        if self._door.key != door_key(spec):
            self._door = EngineDoor(spec)
            self._close_idle()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read its whole answer.

        Raises:
            httpx.HTTPError: no connection, or it ended before the answer did.
        """
        while self._idle and self._idle[-1].is_closed:
            self._idle.pop()
        door = self._door
        connection = self._idle.pop() if self._idle else await _connected(door)
        try:
            status, body = await connection.ask(await _bytes_of(request), self._max_body_bytes)
        except BaseException:
            connection.close()
            await self.aclose()  # others of the same age are likely gone, too
            raise
        if connection.may_be_kept and door is self._door:
            self._idle.append(connection)
        else:
            connection.close()
        return httpx.Response(status, stream=httpx.ByteStream(body))

    async def aclose(self) -> None:
        """Close all idle connections."""
        self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


async def _connected(door: EngineDoor) -> "_Connection":
    try:
        return (await door.connect(_Connection))[1]
    except OSError as error:
        raise httpx.ConnectError(str(error)) from _told_apart(error)


class _Connection(asyncio.Protocol):
    """One connection, with one question at a time; the methods `on_…` are llhttp's."""

    def __init__(self) -> None:
        self.is_closed = False
        self.may_be_kept = False
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._body = bytearray()
        self._max_body_bytes = 0
        self._is_framed = False
        self._keeps_alive = False
        self._has_head = False

    async def ask(self, request: bytes, max_body_bytes: int) -> tuple[int, bytes]:
        self._parser = httptools.HttpResponseParser(self)
        self._body, self._max_body_bytes = bytearray(), max_body_bytes
        self._is_framed = self._keeps_alive = self._has_head = False
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        self._transport.abort()

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by class

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():  # nobody has asked for that
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(httpx.RemoteProtocolError(str(error)))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closed = True
        if error is None and self._has_head and not self._is_framed:
            self._finish(is_kept=False)  # an answer without a length ends with its connection
        lost = httpx.ReadError(str(error) or "closed")
        lost.__cause__ = error
        self._fail(lost)

    # llhttp

    def on_header(self, name: bytes, value: bytes) -> None:
        del value
        self._is_framed = self._is_framed or name.lower() in _FRAMED

    def on_headers_complete(self) -> None:
        self._has_head = self._parser.get_status_code() >= 200
        self._keeps_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._max_body_bytes:
            self._finish(is_kept=False)

    def on_message_complete(self) -> None:
        if self._has_head:  # not of a 100
            self._finish(is_kept=self._keeps_alive)

    def _finish(self, *, is_kept: bool) -> None:
        if self._answer is not None and not self._answer.done():
            self.may_be_kept = is_kept
            self._answer.set_result((self._parser.get_status_code(), bytes(self._body)))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


async def _bytes_of(request: httpx.Request) -> bytes:
    body = await request.aread()
    target, host = request.url.raw_path, request.headers["host"].encode()
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), target), b"host: " + host]
    lines += [b"%b: %b" % pair for pair in request.headers.raw if pair[0].lower() != b"host"]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _told_apart(error: OSError) -> BaseException:
    """What asyncio puts into one text when a name's addresses fail differently."""
    if error.errno is not None:
        return error
    codes = [int(code) for code in _ERRNO.findall(str(error))]
    each = [OSError(code, os.strerror(code)) for code in codes]
    return ExceptionGroup(str(error), each) if each else error
