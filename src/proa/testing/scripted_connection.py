"""One connection to a scripted engine: reads requests, plays their replies in order."""

import asyncio
import socket
import struct
from collections import deque
from dataclasses import dataclass
from typing import Protocol, cast

import httptools

from proa.testing.engine_record import EngineRecord
from proa.testing.received import ReceivedRequest, RequestReader, head_violations
from proa.testing.replies import head_bytes
from proa.testing.steps import (
    Close,
    PauseReading,
    Reply,
    Reset,
    ResumeReading,
    Send,
    Signal,
    Stall,
    Step,
    Wait,
    WaitFor,
)

REFUSAL = head_bytes(400, [("content-length", "0"), ("connection", "close")])


class Answering(Protocol):
    """What a connection needs of its engine."""

    accepting: asyncio.Event
    answer_at_head: bool

    @property
    def record(self) -> EngineRecord: ...
    def is_control(self, request: ReceivedRequest) -> bool: ...
    def reply_to(self, request: ReceivedRequest) -> Reply: ...
    def connection_opened(self, connection: "ScriptedConnection") -> int: ...
    def connection_closed(self, connection: "ScriptedConnection") -> None: ...


@dataclass(slots=True)
class Exchange:
    """One request and the playing of its reply; control exchanges count nowhere."""

    request: ReceivedRequest
    counted: bool
    task: asyncio.Task[None] | None = None
    over: bool = False


class ScriptedConnection(asyncio.Protocol):
    """Reads while it replies, so that a client's FIN or RST is seen at once."""

    transport: asyncio.Transport

    def __init__(self, engine: Answering) -> None:
        self._engine = engine
        self._exchanges: deque[Exchange] = deque()
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._gate: asyncio.Task[None] | None = None

    # connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        secure = transport.get_extra_info("sslcontext") is not None
        self.transport.set_write_buffer_limits(high=int(secure))  # TLS would never resume from 0
        number = self._engine.connection_opened(self)
        self._reader = RequestReader(number, self._on_head, self._on_end)
        if not self._engine.accepting.is_set():
            self._gate = asyncio.ensure_future(self._accept_later())

    async def _accept_later(self) -> None:
        self.transport.pause_reading()  # uvloop forgets a pause in connection_made
        await self._engine.accepting.wait()
        self.transport.resume_reading()

    def eof_received(self) -> bool:
        self._client_left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._client_left()
        self._can_write.set()
        if self._gate is not None:
            self._gate.cancel()
        self._engine.connection_closed(self)

    def _client_left(self) -> None:
        for exchange in self._exchanges:
            self._end(exchange, aborted=True)
            if exchange.task is not None:
                exchange.task.cancel()
        self._exchanges.clear()

    def reset(self) -> None:
        """RST: the linger time of 0 makes the kernel drop what it still holds."""
        sock: socket.socket | None = self.transport.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    # request

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._engine.record.violations.append(f"{type(error).__name__}: {error}")
            for exchange in self._exchanges:
                self._end(exchange, aborted=False)
            self.transport.write(REFUSAL)
            self.transport.close()

    def _on_head(self, request: ReceivedRequest) -> None:
        engine = self._engine
        exchange = Exchange(request, counted=not engine.is_control(request))
        if self._exchanges:
            engine.record.violations.append(f"{request.target}: pipelined")
        engine.record.violations.extend(head_violations(request))
        self._exchanges.append(exchange)
        listed = engine.record.requests if exchange.counted else engine.record.control_requests
        listed.append(request)
        if exchange.counted:
            engine.record.exchange_opened()
        if (request.header("expect") or "").lower() == "100-continue":
            self.transport.write(head_bytes(100, ()))
        self._play_next()

    def _on_end(self, request: ReceivedRequest) -> None:
        self._engine.record.changed()
        self._play_next()

    # reply

    def _play_next(self) -> None:
        if not self._exchanges or self._exchanges[0].task is not None:
            return
        exchange = self._exchanges[0]
        if exchange.request.complete or self._engine.answer_at_head:
            exchange.task = asyncio.ensure_future(self._play(exchange))

    async def _play(self, exchange: Exchange) -> None:
        try:
            reply = self._engine.reply_to(exchange.request)
            for step in reply.steps:
                await self._perform(step, exchange)
        except Exception as error:
            self._engine.record.script_error = error
            self._end(exchange, aborted=False)
            self.reset()
            return
        self._end(exchange, aborted=False)
        if reply.close or not exchange.request.keep_alive:
            self.transport.close()
        if self._exchanges and self._exchanges[0] is exchange:
            self._exchanges.popleft()
            self._play_next()

    def _end(self, exchange: Exchange, *, aborted: bool) -> None:
        if not exchange.over:
            exchange.over = True
            if exchange.counted:
                self._engine.record.exchange_ended(aborted=aborted)

    async def _perform(self, step: Step, exchange: Exchange) -> None:
        match step:
            case Send(data, times):
                for _ in range(times):
                    await self._write(data)
            case Signal(event):
                event.set()
            case WaitFor() | Wait() | Stall():
                await _wait(step)
            case Close() | Reset():
                self._end(exchange, aborted=False)
                self._leave(step)
            case PauseReading():
                self.transport.pause_reading()
            case ResumeReading():
                self.transport.resume_reading()

    def _leave(self, how: Close | Reset) -> None:
        if isinstance(how, Reset):
            self.reset()
        else:
            self.transport.close()

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        self.transport.write(data)
        await asyncio.sleep(0)
        await self._can_write.wait()
        self._engine.record.bytes_sent += len(data)

    def pause_writing(self) -> None:
        self._can_write.clear()

    def resume_writing(self) -> None:
        self._can_write.set()


async def _wait(step: WaitFor | Wait | Stall) -> None:
    match step:
        case WaitFor(event):
            await event.wait()
        case Wait(seconds):
            await asyncio.sleep(seconds)
        case Stall():
            await asyncio.get_running_loop().create_future()
