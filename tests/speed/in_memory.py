"""A data plane between transports that keep what is written: no socket, no loop, no clock.

Keys, several routes and counters are on; the request log is off, as in `benchmarks`.
"""

import asyncio
import os
from hashlib import sha256
from random import Random
from typing import Any, cast

import msgspec
from benchmarks.requests import chat_requests
from benchmarks.subjects import Subject

from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView, FleetView, ModelView
from proa.gateway.connection import ClientConnection
from proa.gateway.messages import ApplySettings
from proa.gateway.plane import DataPlane
from proa.gateway.settings import GatewaySettings, KeySpec, LogSettings
from proa.gateway.upstream import UpstreamConnection
from proa.routing.spec import MatchSpec, OverflowSpec, RouteSpec, RoutingSpec
from proa.telemetry.rows import SharedRows
from proa.testing.chat import chat_completion, chat_events
from proa.testing.replies import chunk, event_bytes, head_bytes, json_bytes

KEY = "proa-measured"
ENGINES = ("main", "aux")
ROUTES = (
    RouteSpec(
        name="faq",
        match=MatchSpec(path="/api/faq"),
        prefer=("aux",),
        overflow=("main",),
        overflow_when=OverflowSpec(in_flight=8),
    ),
    RouteSpec(name="embeddings", match=MatchSpec(path="/v1/embeddings"), prefer=("aux",)),
    RouteSpec(name="chat", match=MatchSpec(path="/v1/chat/completions"), prefer=ENGINES),
)
HEADERS = (
    ("date", "Mon, 01 Jun 2026 00:00:00 GMT"),
    ("server", "uvicorn"),
)
JSON_HEADERS = (*HEADERS, ("content-type", "application/json"))
STREAM_HEADERS = (
    *HEADERS,
    ("content-type", "text/event-stream; charset=utf-8"),
    ("transfer-encoding", "chunked"),
)


class KeptTransport:
    """Takes what is written, always at once."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 50_000) if name == "peername" else default

    def set_write_buffer_limits(self, high: int) -> None:
        """The buffer is always empty."""

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def taken(self) -> bytes:
        """What was written since the last time."""
        written = b"".join(self.written)
        self.written.clear()
        return written


class Lane:
    """One client connection, one kept connection to each engine, and answers of all lengths."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._rows = SharedRows.create(2)
        self._rows.use(1)
        plane = self._plane = DataPlane(self._loop, self._rows, 1, Random(1), clock=lambda: 100.0)
        plane.apply_settings(_settings())
        plane.apply_fleet(_fleet())
        self.client = KeptTransport()
        self._connection = ClientConnection(plane)
        self._connection.connection_made(cast(asyncio.Transport, self.client))
        self._engines = [_kept(link, plane) for link in plane.dispatcher.links]
        subject = Subject("memory", 8080, key=KEY)
        self._requests = chat_requests(subject, stream=False)
        self._stream_requests = chat_requests(subject, stream=True)
        self._answers = [_json_answer("word " * (20 + n)) for n in range(len(self._requests))]
        events = chat_events([f"{'token'[: n % 5 + 1]} " for n in range(40)], model="fast")
        self._events = [chunk(event_bytes(event)) for event in events[1:-2]]
        self._start = head_bytes(200, STREAM_HEADERS) + chunk(event_bytes(events[0]))
        end = [chunk(event_bytes(event)) for event in (*events[-2:], "[DONE]")]
        self._end = b"".join((*end, chunk(b"")))
        self.lengths = len(self._requests)
        self._turn = 0

    def close(self) -> None:
        os.close(self._rows.descriptor)
        self._loop.close()

    def exchange(self) -> None:
        """One JSON request and its answer."""
        self._turn = turn = (self._turn + 1) % len(self._requests)
        self._connection.data_received(self._requests[turn])
        self._working().data_received(self._answers[turn])

    def start_stream(self) -> UpstreamConnection:
        """A streamed request, answered with its first event; what follows is fed to the result."""
        self._turn = turn = (self._turn + 1) % len(self._requests)
        self._connection.data_received(self._stream_requests[turn])
        engine = self._working()
        engine.data_received(self._start)
        return engine

    def stream_events(self, engine: UpstreamConnection) -> int:
        """Feed events one by one; returns how many."""
        for event in self._events:
            engine.data_received(event)
        return len(self._events)

    def end_stream(self, engine: UpstreamConnection) -> None:
        engine.data_received(self._end)

    def stream(self) -> None:
        """One whole stream."""
        engine = self.start_stream()
        self.stream_events(engine)
        self.end_stream(engine)

    def forget_written(self) -> None:
        """Let go of what was written and counted, so that only what is kept for good is left."""
        self._plane.flush_counters()
        self.client.written.clear()
        for engine in self._engines:
            cast(Any, engine.transport).written.clear()

    def _working(self) -> UpstreamConnection:
        return next(engine for engine in self._engines if engine.attempt is not None)


def _settings() -> ApplySettings:
    engines = tuple(
        EngineSpec(name=name, url=f"http://127.0.0.1:{port}", models=("fast",))
        for port, name in enumerate(ENGINES, 9001)
    )
    key = KeySpec(name="one", digest=sha256(KEY.encode()).digest(), max_concurrent_requests=64)
    settings = GatewaySettings(
        engines=engines,
        routing=RoutingSpec(routes=ROUTES),
        keys=(key,),
        logs=LogSettings(requests=False),
    )
    return ApplySettings(1, settings, {"main": 0, "aux": 1}, {"one": 0}, "abcdef")


def _fleet() -> FleetView:
    views = [
        EngineView(
            name=name,
            kind=EngineKind.OPENAI,
            state=EngineState.READY,
            models=(ModelView("fast", msgspec.Raw(b"{}")),),
            models_known=True,
        )
        for name in ENGINES
    ]
    return FleetView(1, tuple(views))


def _kept(link: Any, plane: DataPlane) -> UpstreamConnection:
    engine = UpstreamConnection(link.door)
    engine.connection_made(cast(asyncio.Transport, KeptTransport()))
    link.keep(engine, plane.now)
    return engine


def _json_answer(text: str) -> bytes:
    body = json_bytes(chat_completion(text, model="fast"))
    return head_bytes(200, (*JSON_HEADERS, ("content-length", str(len(body))))) + body
