"""The program: an emulated engine on a socket, until it is told to stop."""

import asyncio
import signal
import socket
import time
from collections.abc import Callable

from proa.domain.fleet import EngineKind
from proa.emulator.connection import EngineConnection
from proa.emulator.engine import RealTimeEngine
from proa.emulator.llamacpp import LlamaCppDialect
from proa.emulator.openai_dialect import OpenAiDialect
from proa.emulator.profile import EngineProfile
from proa.emulator.sglang import SglangDialect
from proa.emulator.tgi import TgiDialect
from proa.emulator.vllm import VllmDialect

DIALECTS: dict[EngineKind, type[OpenAiDialect]] = {
    EngineKind.VLLM: VllmDialect,
    EngineKind.SGLANG: SglangDialect,
    EngineKind.TGI: TgiDialect,
    EngineKind.LLAMACPP: LlamaCppDialect,
}


class EmulatorServer:
    """One emulated engine that listens; `close` ends it and its connections."""

    def __init__(
        self,
        profile: EngineProfile,
        listener: socket.socket,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.engine = RealTimeEngine(profile, asyncio.get_running_loop())
        self._dialect = DIALECTS[profile.kind](self.engine, clock)
        self._marks = b"x-proa-emulator: %b\r\n" % profile.name.encode()
        self._listener = listener
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: EngineConnection(self._dialect, self._marks), sock=self._listener
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


async def run(
    profile: EngineProfile, listener: socket.socket, announce: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; `announce` is called when it listens."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = EmulatorServer(profile, listener)
    await server.start()
    announce()
    await ended.wait()
    server.close()
