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
from proa.gateway.connection import ClientConnection
from proa.gateway.messages import ApplyFleet, ApplySettings, Drain, Message, ReopenLogs, next_message
from proa.gateway.plane import DataPlane
from proa.gateway.settings import GatewaySettings, TlsSettings
from proa.telemetry.logs import open_log
from proa.telemetry.rows import SharedRows

_HANDED_AT_ONCE = 16
_DRAIN_POLL_S = 0.05


class Worker:
    """Joins a data plane to its sockets and to the supervisor."""

    def __init__(self, arguments: argparse.Namespace, loop: asyncio.AbstractEventLoop) -> None:
        rows = SharedRows.attach(arguments.rows_fd)
        self._loop = loop
        self._plane = DataPlane(loop, rows, arguments.row, Random())
        self._channel = socket.socket(fileno=arguments.channel_fd)
        self._listen_fds: list[int] = arguments.listen_fd
        self._clients_fd: int | None = arguments.clients_fd
        self._clients: socket.socket | None = None
        self._servers: list[asyncio.Server] = []
        self._tls: ssl.SSLContext | None = None
        self._handing: set[asyncio.Task[object]] = set()

    async def run(self) -> None:
        """Serve until the supervisor says drain, or is gone."""
        reader, _ = await asyncio.open_connection(sock=self._channel)
        serving = False
        while (message := await next_message(reader)) is not None and not isinstance(message, Drain):
            self._take(message)
            if not serving and isinstance(message, ApplyFleet):
                serving = True
                await self._serve()
                self._plane.sweep()
        await self._drain()

    def _take(self, message: Message) -> None:
        plane = self._plane
        if isinstance(message, ApplySettings):
            self._apply(message)
        elif isinstance(message, ApplyFleet):
            plane.apply_fleet(message.view)
        elif isinstance(message, ReopenLogs) and plane.log is not None:
            with contextlib.suppress(ProaError):
                plane.log.reopen()

    def _apply(self, message: ApplySettings) -> None:
        plane, settings = self._plane, message.settings
        before: GatewaySettings | None = getattr(plane, "settings", None)
        if before is None or before.logs != settings.logs:
            plane.log = open_log(settings.logs.path, format=settings.logs.format)
        if settings.tls is not None:
            self._tls = self._tls or ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            load_certificates(self._tls, settings.tls)
        plane.apply_settings(message)

    async def _serve(self) -> None:
        for descriptor in self._listen_fds:
            sock = socket.socket(fileno=descriptor)
            listen = self._loop.create_unix_server if sock.family == socket.AF_UNIX else self._loop.create_server
            server = await listen(self._connection, sock=sock, ssl=self._tls, backlog=4096)
            self._servers.append(server)
        if self._clients_fd is not None:
            self._clients = socket.socket(fileno=self._clients_fd)
            self._clients.setblocking(False)
            self._loop.add_reader(self._clients.fileno(), self._handed)

    def _connection(self) -> ClientConnection:
        return ClientConnection(self._plane)

    def _handed(self) -> None:
        """The supervisor handed us accepted clients."""
        assert self._clients is not None
        for _ in range(_HANDED_AT_ONCE):
            try:
                data, descriptors, _, _ = socket.recv_fds(self._clients, 16, 16)
            except BlockingIOError:
                return
            if not data:
                self._loop.remove_reader(self._clients.fileno())
                return
            for descriptor in descriptors:
                task = self._loop.create_task(self._adopt(socket.socket(fileno=descriptor)))
                self._handing.add(task)
                task.add_done_callback(self._handing.discard)

    async def _adopt(self, client: socket.socket) -> None:
        client.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._connection, client, ssl=self._tls)
        except (OSError, ssl.SSLError):
            client.close()  # gone, or no TLS, before it became a connection

    async def _drain(self) -> None:
        plane = self._plane
        plane.drain()
        for server in self._servers:
            server.close()
        if self._clients is not None:
            self._handed()
            self._loop.remove_reader(self._clients.fileno())
        until = self._loop.time() + plane.settings.limits.drain_timeout_s
        while (plane.connections or self._handing) and self._loop.time() < until:
            await asyncio.sleep(_DRAIN_POLL_S)
        for connection in list(plane.connections):
            connection.transport.abort()
        await asyncio.sleep(0)
        if plane.log is not None:
            plane.log.flush()


def load_certificates(context: ssl.SSLContext, tls: TlsSettings) -> None:
    """Put certificate and key into a context, a live one too: the next handshake uses them.

    Raises:
        OSError, ssl.SSLError: unreadable, or not a pair.
    """
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(tls.cert_file, tls.key_file)
    if tls.client_ca_file is not None:
        context.load_verify_locations(tls.client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED


def main(arguments: list[str]) -> int:
    """Run one worker to its end."""
    parser = argparse.ArgumentParser(prog="proa.gateway.worker")
    parser.add_argument("--channel-fd", type=int, required=True)
    parser.add_argument("--rows-fd", type=int, required=True)
    parser.add_argument("--row", type=int, required=True)
    parser.add_argument("--listen-fd", type=int, action="append", default=[])
    parser.add_argument("--clients-fd", type=int)
    parsed = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)  # the terminal's group gets them too; the supervisor decides
    gc.freeze()

    async def run() -> None:
        await Worker(parsed, asyncio.get_running_loop()).run()

    uvloop.run(run())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
