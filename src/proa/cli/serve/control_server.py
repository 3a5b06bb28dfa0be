"""The control plane's HTTP server: uvicorn on a socket of ours, without its signal handling."""

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp

from proa.gateway.listeners import open_listener
from proa.telemetry.logs import Log

_GRACE_S = 2
_POLL_S = 0.01


class ControlServer:
    """Serves one application; `move` takes it to another address without a gap.

    Failures of its pages go to `log`.
    """

    def __init__(self, app: ASGIApp, log: Log) -> None:
        self._app = app
        self._told = _LogLines(log)
        self._listen = ""
        self._listener: socket.socket | None = None
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """Where it listens, with the port that it really got."""
        if self._listener is None or self._listen.startswith("unix:"):
            return self._listen
        host = self._listen.rpartition(":")[0]
        return f"{host}:{self._listener.getsockname()[1]}"

    async def move(self, listen: str) -> None:
        """Serve at `listen`, and no more where it was before.

        Raises:
            InputError: the address cannot be used; the old one stays.
        """
        if listen == self._listen:
            return
        listener = open_listener(listen, key="control.listen")
        await self.stop()
        self._told.take_over()
        config = uvicorn.Config(
            self._app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            forwarded_allow_ips="127.0.0.1,::1",
            timeout_graceful_shutdown=_GRACE_S,
        )
        self._listen, self._listener, self._server = listen, listener, _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(_POLL_S)

    async def stop(self) -> None:
        """Finish what is open, for a short time, and close."""
        if self._server is None or self._task is None or self._listener is None:
            return
        self._server.should_exit = True
        await self._task
        self._listener.close()
        if self._listen.startswith("unix:"):
            with suppress(OSError):
                os.unlink(self._listen.removeprefix("unix:"))
        self._server = None


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the program's own."""
        yield


class _LogLines(logging.Handler):
    """Uvicorn's failures as events; its warnings are clients' mistakes, which it answers."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def take_over(self) -> None:
        """Have all that uvicorn says come here, and nowhere else."""
        logger = logging.getLogger("uvicorn.error")
        logger.handlers, logger.propagate = [self], False

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        told = record.getMessage() if error is None else f"{type(error).__name__}: {error}"
        self._log.event("error", "control plane failed", error=told)
