"""A fake inference engine that does on real sockets what a script says, faults included.

It fakes an OpenAI-like HTTP/1.1 server (vLLM, SGLang, llama.cpp) as a gateway
sees it: bytes, their timing and the ends of connections. It generates nothing,
has no slots and no queue, and its JSON is canned.

    gate = asyncio.Event()
    script = [json_reply({"ok": True}), sse_reply(["one", WaitFor(gate), Reset()])]
    async with ScriptedEngine(script) as engine:
        ...  # send requests to engine.url
        await engine.wait_aborted(1)
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from proa.testing.chat import chat_completion, chat_events
from proa.testing.engine_record import EngineRecord
from proa.testing.received import ReceivedRequest
from proa.testing.replies import json_reply, sse_reply
from proa.testing.scripted_connection import ScriptedConnection
from proa.testing.steps import Reply

Script = Callable[[ReceivedRequest], Reply]

CONTROL_PATHS = (
    "/api/ps",
    "/api/tags",
    "/api/version",
    "/get_load",
    "/get_server_info",
    "/health",
    "/info",
    "/lora-adapters",
    "/metrics",
    "/prometheus/metrics",
    "/props",
    "/server_info",
    "/slots",
    "/v1/loads",
    "/v1/models",
    "/v2",
    "/version",
)


def default_reply(request: ReceivedRequest) -> Reply:
    """A canned chat answer, streamed when the body says `"stream": true`."""
    try:
        body = json.loads(bytes(request.body))
    except ValueError:
        body = None
    if isinstance(body, dict) and body.get("stream") is True:
        return sse_reply(chat_events())
    return json_reply(chat_completion())


class ScriptedEngine(EngineRecord):
    """Serves on `url` while the context is open; what it saw is on the engine itself.

    `script` gives each request its reply: a function, or replies that are used in
    order; without one, and after the last one, `default_reply`.
    GET requests to the paths of `control` are answered from that table, so that a
    control plane's polls disturb neither script nor counts; it holds `/health` and
    `/v1/models` (the names in `models`) and a 404 for the other `CONTROL_PATHS`;
    change or delete entries at will.
    `answer_at_head` starts a reply before the request's body was read.
    Clear `accepting` to leave new connections unread until it is set again.
    """

    def __init__(
        self,
        script: Script | Sequence[Reply] | None = None,
        *,
        models: Sequence[str] = ("scripted",),
        port: int = 0,
        unix_path: Path | None = None,
        tls: ssl.SSLContext | None = None,
        answer_at_head: bool = False,
    ) -> None:
        super().__init__()
        self.control = control_table(models)
        self.accepting = asyncio.Event()
        self.accepting.set()
        self.answer_at_head = answer_at_head
        self.port = port
        self._script = script
        self._replies_used = 0
        self._unix_path = unix_path
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._open: set[ScriptedConnection] = set()

    @property
    def record(self) -> EngineRecord:
        return self

    @property
    def url(self) -> str:
        """Where it listens: http, https or `unix:/path`."""
        if self._unix_path is not None:
            return f"unix:{self._unix_path}"
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen; after `stop`, again at the same address."""
        loop = asyncio.get_running_loop()
        if self._unix_path is not None:
            self._server = await loop.create_unix_server(
                self._connection, str(self._unix_path), ssl=self._tls
            )
            return
        self._server = await loop.create_server(
            self._connection, "127.0.0.1", self.port, ssl=self._tls, backlog=4096
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self, *, reset: bool = True) -> None:
        """Stop listening and end every connection, by RST or by FIN; then the port refuses."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in tuple(self._open):
            if reset:
                connection.reset()
            else:
                connection.transport.close()
        await self.wait_connections(0)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raises the error of a script that failed, unless another one is on its way."""
        await self.stop()
        if self.script_error is not None and error is None:
            raise self.script_error

    # called by connections

    def is_control(self, request: ReceivedRequest) -> bool:
        return request.method == "GET" and request.path in self.control

    def reply_to(self, request: ReceivedRequest) -> Reply:
        if self.is_control(request):
            return self.control[request.path]
        if callable(self._script):
            return self._script(request)
        if self._script is not None and self._replies_used < len(self._script):
            self._replies_used += 1
            return self._script[self._replies_used - 1]
        return default_reply(request)

    def connection_opened(self, connection: ScriptedConnection) -> int:
        self._open.add(connection)
        self.connections += 1
        self.connections_made += 1
        self.changed()
        return self.connections_made

    def connection_closed(self, connection: ScriptedConnection) -> None:
        self._open.discard(connection)
        self.connections -= 1
        self.changed()

    def _connection(self) -> ScriptedConnection:
        return ScriptedConnection(self)


def control_table(models: Sequence[str]) -> dict[str, Reply]:
    """What a healthy engine answers to a control plane."""
    missing = json_reply({"detail": "Not Found"}, status=404)
    table = dict.fromkeys(CONTROL_PATHS, missing)
    table["/health"] = json_reply({"status": "ok"})
    cards = [{"id": name, "object": "model", "owned_by": "script"} for name in models]
    table["/v1/models"] = json_reply({"object": "list", "data": cards})
    return table
