"""A client for tests that shows a server's bytes as they came: heads, chunk borders, ends."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import urlsplit

from proa.testing.raw_response import RawBody, RawHead, RawResponse, WireError, parse_head

READ_BYTES = 256 * 1024


class RawClient:
    """One connection; open it with `RawClient.connect`.

    `reads` keeps what each read of the socket gave, in order of arrival.
    `timeout_s` bounds every single wait; running into it is a TimeoutError.
    """

    def __init__(self, sock: socket.socket, *, timeout_s: float = 5.0) -> None:
        self.socket = sock
        self.timeout_s = timeout_s
        self.reads: list[bytes] = []
        self._buffer = bytearray()
        self._end: str | None = None

    @classmethod
    @asynccontextmanager
    async def connect(cls, url: str, *, timeout_s: float = 5.0) -> AsyncIterator[Self]:
        """Connect to `http://host:port` or `unix:/path`; closed by FIN at the end."""
        parts = urlsplit(url)
        family = socket.AF_UNIX if parts.scheme == "unix" else socket.AF_INET
        address = parts.path if parts.scheme == "unix" else (parts.hostname, parts.port)
        with socket.socket(family) as sock:
            sock.settimeout(0)
            async with asyncio.timeout(timeout_s):
                await asyncio.get_running_loop().sock_connect(sock, address)
            if family == socket.AF_INET:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield cls(sock, timeout_s=timeout_s)

    # sending and leaving

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(self.timeout_s):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    def half_close(self) -> None:
        """FIN: nothing more will be sent, but answers are still read."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """RST, in place of an orderly end."""
        linger = struct.pack("ii", 1, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.socket.close()

    def close(self) -> None:
        """Close the descriptor: FIN, or RST by the kernel when unread bytes are left."""
        self.socket.close()

    # receiving

    async def read_some(self) -> bytes:
        """What is buffered, else what one read gives; empty at the end of the connection."""
        if not self._buffer:
            await self._fill()
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    async def read_exactly(self, count: int) -> bytes:
        """Raises `WireError` when the connection ends before."""
        while len(self._buffer) < count:
            if not await self._fill():
                raise WireError(f"{self._end} after {len(self._buffer)} of {count} bytes")
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    async def read_until(self, mark: bytes) -> bytes:
        """Up to and with `mark`; raises `WireError` when the connection ends before."""
        while (at := self._buffer.find(mark)) < 0:
            if not await self._fill():
                raise WireError(f"{self._end} before {mark!r}; got {bytes(self._buffer[-200:])!r}")
        return await self.read_exactly(at + len(mark))

    async def read_until_end(self) -> bytes:
        """Everything until the connection ends; `end` tells how it did."""
        while await self._fill():
            pass
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    async def end(self) -> str:
        """Wait for the end of the connection: "FIN" or "RST".

        Raises `WireError` when bytes come instead.
        """
        if self._buffer or await self._fill():
            raise WireError(f"bytes instead of an end: {bytes(self._buffer[:200])!r}")
        assert self._end is not None
        return self._end

    async def read_head(self) -> RawHead:
        return parse_head(await self.read_until(b"\r\n\r\n"))

    async def read_chunk(self) -> bytes:
        """The data of the next chunk; empty for the last one, before its trailers."""
        size_line = await self.read_until(b"\r\n")
        size = int(size_line[:-2].split(b";")[0], 16)
        if size == 0:
            return b""
        data = await self.read_exactly(size + 2)
        if not data.endswith(b"\r\n"):
            raise WireError(f"a chunk of {size} bytes does not end in CRLF")
        return data[:-2]

    async def read_body(self, head: RawHead, *, method: str = "POST") -> RawBody:
        """The body that follows `head`; one that was cut has `complete` false."""
        if not head.has_body(method):
            return RawBody(b"")
        if head.is_chunked:
            return await self._read_chunked()
        length = head.content_length
        if length is None:
            data = await self.read_until_end()
            return RawBody(data, complete=self._end == "FIN")
        try:
            return RawBody(await self.read_exactly(length))
        except WireError:
            return RawBody(await self.read_some(), complete=False)

    async def _read_chunked(self) -> RawBody:
        chunks: list[bytes] = []
        try:
            while data := await self.read_chunk():
                chunks.append(data)
            trailers = []
            while (line := await self.read_until(b"\r\n")) != b"\r\n":
                name, _, value = line.decode("latin-1").partition(":")
                trailers.append((name, value.strip()))
        except WireError:
            return RawBody(b"".join(chunks), tuple(chunks), complete=False)
        return RawBody(b"".join(chunks), tuple(chunks), tuple(trailers))

    async def read_response(self, *, method: str = "POST") -> RawResponse:
        """The next final response; interim ones (1xx) before it are kept in `interim`."""
        interim: list[RawHead] = []
        while (head := await self.read_head()).status < 200:
            interim.append(head)
        body = await self.read_body(head, method=method)
        return RawResponse(head, body, tuple(interim))

    async def _fill(self) -> bool:
        if self._end is not None:
            return False
        try:
            async with asyncio.timeout(self.timeout_s):
                data = await asyncio.get_running_loop().sock_recv(self.socket, READ_BYTES)
        except ConnectionResetError:
            self._end = "RST"
            return False
        if not data:
            self._end = "FIN"
            return False
        self.reads.append(data)
        self._buffer += data
        return True
