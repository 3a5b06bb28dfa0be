"""A data-plane process: `python -m proa.gateway.worker`, started by the supervisor.

It has inherited descriptors only: the supervisor's channel, the shared rows, and
either the listening sockets (a single worker accepts itself) or the socket over
which the supervisor hands it accepted clients.
"""

import argparse
import asyncio
import contextlib
import gc
import signal
import socket
import ssl
import sys
from random import Random

import uvloop

from proa.errors import ProaError
from proa.gateway.acceptor import Acceptor
from proa.gateway.bells import Bells
from proa.gateway.client_queue import ClientQueue
from proa.gateway.connection import ClientConnection
from proa.gateway.listeners import inherited_socket
from proa.gateway.messages import (
    ApplyFleet,
    ApplyLoads,
    ApplySettings,
    Drain,
    Message,
    SettingsRefused,
    frame,
    next_message,
)
from proa.gateway.plane import DataPlane
from proa.gateway.recorder import Recorder
from proa.gateway.settings import GatewaySettings
from proa.gateway.tls import server_context
from proa.telemetry.logs import open_log
from proa.telemetry.rows import Header, SharedRows

_DRAIN_POLL_S = 0.05
_LAST_WORDS_S = 1.0


class Worker:
    """Joins a data plane to its sockets and to the supervisor."""

    def __init__(self, arguments: argparse.Namespace, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._plane = DataPlane(loop, SharedRows.attach(arguments.rows_fd), arguments.row, Random())
        if arguments.bell_fd:
            self._hang(Bells(arguments.bell_fd), arguments.row)
        # supervisor
        self._channel = socket.socket(fileno=arguments.channel_fd)
        self._answers: asyncio.StreamWriter | None = None
        self._told_to_end: asyncio.Future[float] = loop.create_future()
        # clients
        self._listeners = [inherited_socket(descriptor) for descriptor in arguments.listen_fd]
        self._acceptor: Acceptor | None = None
        self._clients_fd: int | None = arguments.clients_fd
        self._queue: ClientQueue | None = None
        self._tls: ssl.SSLContext | None = None
        self._adopting: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until the supervisor says drain, or is gone."""
        following = self._loop.create_task(self._follow())
        accept_s = await self._told_to_end
        await self._drain(accept_s)
        following.cancel()

    def _hang(self, bells: Bells, row_index: int) -> None:
        """Listen to our bell, and know those of the other workers."""
        self._plane.room.heads.bells = bells
        self._loop.add_reader(bells.descriptor(row_index), self._plane.room.rung)

    # what the supervisor says

    async def _follow(self) -> None:
        try:
            reader, self._answers = await asyncio.open_connection(sock=self._channel)
            plane, way = self._plane, self._answers.transport
            plane.recorder = Recorder(way, plane.counts, plane.wall_clock)
            while (message := await next_message(reader)) is not None:
                self._take(message)
        except Exception as fault:
            if self._told_to_end.done():
                raise
            self._told_to_end.set_exception(fault)
        else:
            self._stop_listening()  # another supervisor may be waiting for the address
            self._end(0.0)

    def _take(self, message: Message) -> None:
        plane = self._plane
        if isinstance(message, ApplySettings):
            self._apply(message)
        elif isinstance(message, ApplyFleet):
            plane.apply_fleet(message.view)
            self._begin()
        elif isinstance(message, ApplyLoads):
            plane.apply_loads(message.view)
        elif isinstance(message, Drain):
            self._end(message.accept_s)
        elif plane.log is not None:
            with contextlib.suppress(ProaError):
                plane.log.reopen()

    def _apply(self, message: ApplySettings) -> None:
        """Work with new settings; those that turn out to be unusable are not taken."""
        plane, settings = self._plane, message.settings
        before: GatewaySettings | None = getattr(plane, "settings", None)
        try:
            tls = None if settings.tls is None else server_context(settings.tls)
            if before is None or before.logs != settings.logs:
                plane.log = open_log(settings.logs.path, format=settings.logs.format)
        except (OSError, ProaError) as error:
            if before is None or plane.log is None:
                raise
            plane.log.event("error", "settings not taken by a worker", error=str(error))
            if self._answers is not None:
                self._answers.write(frame(SettingsRefused(message.generation, str(error))))
            return
        self._tls = tls
        plane.apply_settings(message)

    def _begin(self) -> None:
        """The first view of the fleet is there: take clients."""
        if self._acceptor is not None or self._told_to_end.done():
            return
        self._acceptor = Acceptor(self._listeners, self._adopt)
        if self._clients_fd is not None:
            self._queue = ClientQueue(inherited_socket(self._clients_fd), self._adopt)
        self._plane.sweep()

    def _end(self, accept_s: float) -> None:
        if not self._told_to_end.done():
            self._told_to_end.set_result(accept_s)

    # clients

    def _adopt(self, client: socket.socket) -> bool:
        task = self._loop.create_task(self._connect(client))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)
        return True

    async def _connect(self, client: socket.socket) -> None:
        plane, tls = self._plane, self._tls
        handshake_s = plane.settings.limits.head_timeout_s if tls else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: ClientConnection(plane),
                client,
                ssl=tls,
                ssl_handshake_timeout=handshake_s,
            )
        except OSError:  # gone, or no TLS, before it became a connection
            plane.row[Header.ACCEPTED] += 1
            client.close()

    # the end

    async def _drain(self, accept_s: float) -> None:
        plane, loop = self._plane, self._loop
        plane.drain()
        until = loop.time() + plane.settings.limits.drain_timeout_s
        if self._acceptor is not None:
            in_use = bool(plane.connections) or self._acceptor.took_within(accept_s)
            loop.call_later(accept_s if in_use else 0.0, self._stop_listening)
        while loop.time() < until and self._has_clients():
            await asyncio.sleep(_DRAIN_POLL_S)
        for connection in list(plane.connections):
            connection.transport.abort()
        plane.guard_helper.close()
        await asyncio.sleep(0)
        if plane.recorder is not None:
            plane.recorder.flush()
        plane.flush_counters()
        if plane.log is not None:
            plane.log.flush()
        await self._told()

    async def _told(self) -> None:
        """The supervisor has got everything that we had to tell, unless it reads nothing."""
        if self._answers is not None:
            self._answers.close()
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(self._answers.wait_closed(), _LAST_WORDS_S)

    def _stop_listening(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    def _has_clients(self) -> bool:
        """Whether some are connected, or can still come."""
        queued = self._queue is not None and self._queue.open
        return bool(self._plane.connections or self._adopting or self._listeners or queued)


def main(arguments: list[str]) -> int:
    """Run one worker to its end."""
    parser = argparse.ArgumentParser(prog="proa.gateway.worker")
    parser.add_argument("--channel-fd", type=int, required=True)
    parser.add_argument("--rows-fd", type=int, required=True)
    parser.add_argument("--row", type=int, required=True)
    parser.add_argument("--listen-fd", type=int, action="append", default=[])
    parser.add_argument("--clients-fd", type=int)
    parser.add_argument("--bell-fd", type=int, action="append", default=[])
    parsed = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(
            number, signal.SIG_IGN
        )  # the terminal's group gets them too; the supervisor decides
    gc.freeze()

    async def run() -> None:
        await Worker(parsed, asyncio.get_running_loop()).run()

    uvloop.run(run())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
