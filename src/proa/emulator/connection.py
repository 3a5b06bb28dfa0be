"""One client's connection: requests in, answers out, one write per stream and step."""

import asyncio
from collections import deque
from typing import cast

import httptools

from proa.emulator.dialect import Dialect
from proa.emulator.exchange import (
    EVENTS,
    JSON,
    LAST_CHUNK,
    Generation,
    Reply,
    Request,
    chunk,
    head,
)
from proa.emulator.sequence import Sequence

MAX_BODY_BYTES = 64 * 2**20


class EngineConnection(asyncio.Protocol):
    """Answers one request after the other; the client's close cancels what it waits for."""

    def __init__(self, dialect: Dialect, marks: bytes) -> None:
        """`marks` are header lines for every response."""
        self._dialect = dialect
        self._marks = marks
        self._url = b""
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._queue: deque[Request] = deque()
        self._sequence: Sequence | None = None
        self._generation: Generation | None = None
        self._keeps_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._keeps_open = False
            self._send(Reply(400, b'{"detail":"Invalid HTTP request"}'))

    def connection_lost(self, exc: Exception | None) -> None:
        self._queue.clear()
        if self._sequence is None or self._generation is None:
            return
        if self._generation.answer.is_stream or not self._dialect.notices_close_after_s:
            self._dialect.engine.cancel(self._sequence)
            return
        asyncio.get_running_loop().call_later(
            self._dialect.notices_close_after_s, self._dialect.engine.cancel, self._sequence
        )

    def on_message_begin(self) -> None:
        self._url, self._body, self._body_bytes = b"", [], 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"expect" and value.lower() == b"100-continue":
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes <= MAX_BODY_BYTES:
            self._body.append(body)

    def on_message_complete(self) -> None:
        path, _, query = self._url.partition(b"?")
        method = self._parser.get_method().decode("latin-1")
        is_too_large = self._body_bytes > MAX_BODY_BYTES
        request = Request(
            method,
            path.decode("latin-1"),
            query.decode("latin-1"),
            b"" if is_too_large else b"".join(self._body),
            is_too_large=is_too_large,
            keeps_open=self._parser.should_keep_alive() and not is_too_large,
        )
        if self._sequence is None and not self._queue:
            self._answer(request)
        else:
            self._queue.append(request)

    def _write(self, data: bytes) -> None:
        """uvloop refuses writes to a closed transport, also before `connection_lost`."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def _answer(self, request: Request) -> None:
        self._keeps_open = request.keeps_open
        if request.is_too_large:
            self._send(Reply(413, b'{"detail":"Payload Too Large"}'))
            return
        answered = self._dialect.answer(request)
        if isinstance(answered, Reply):
            self._send(answered)
        else:
            self._generate(answered)

    def _send(self, reply: Reply) -> None:
        more = self._marks + b"".join(
            b"%b: %b\r\n" % (name.encode(), value.encode()) for name, value in reply.headers
        )
        if not self._keeps_open:
            more += b"connection: close\r\n"
        is_stream = reply.content_type == EVENTS
        length = None if is_stream else len(reply.body)
        body = chunk(reply.body) + LAST_CHUNK if is_stream else reply.body
        self._write(head(reply.status, reply.content_type, length, more) + body)
        self._after_answer()

    def _generate(self, generation: Generation) -> None:
        self._generation = generation
        if generation.answer.is_stream and not generation.head_waits:
            self._write(self._stream_head())
        on_token = self._on_stream if generation.answer.is_stream else self._on_whole
        self._sequence = self._dialect.engine.submit(generation.spec, on_token)

    def _stream_head(self) -> bytes:
        return head(200, EVENTS, None, self._marks)

    def _on_stream(self, sequence: Sequence) -> None:
        generation = self._generation
        assert generation is not None
        number = sequence.generated
        data = (
            generation.answer.token(number)
            if number < sequence.output_tokens
            else generation.answer.closing(sequence)
        )
        if number == 1:
            data = generation.answer.opening() + data
            if generation.head_waits:
                data = self._stream_head() + data
        self._write(data)
        if number == sequence.output_tokens:
            self._end_generation()

    def _on_whole(self, sequence: Sequence) -> None:
        if sequence.generated < sequence.output_tokens:
            return
        assert self._generation is not None
        body = self._generation.answer.closing(sequence)
        self._write(head(200, JSON, len(body), self._marks) + body)
        self._end_generation()

    def _end_generation(self) -> None:
        self._sequence = self._generation = None
        self._after_answer()

    def _after_answer(self) -> None:
        if not self._keeps_open:
            self._transport.close()
        elif self._queue:
            self._answer(self._queue.popleft())
