"""A gateway inside the test's own loop: real sockets, a clock that the test moves.

    async with ScriptedEngine() as engine, serving(engine) as gateway:
        answer = await gateway.ask(json_request({"model": "scripted"}))
        gateway.advance(10.0)  # all timeouts below 10 s have run out now

The sweep runs only when a test asks for it. When the context ends, every gauge of
the worker's row must have come back to zero.
"""

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from random import Random
from typing import Any, cast

import msgspec

from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView, FleetView, ModelView
from proa.domain.request_record import RequestRecord
from proa.domain.tenant import DEFAULT_TENANT
from proa.gateway.connection import ClientConnection
from proa.gateway.messages import ApplySettings
from proa.gateway.plane import DataPlane
from proa.gateway.settings import GatewaySettings, KeySpec, LimitsSettings
from proa.routing.admission.priority import Priority
from proa.telemetry.logs import Log
from proa.telemetry.rows import (
    TTFT_BOUNDS_US,
    Engine,
    Header,
    Key,
    SharedRows,
    Tenant,
    engine_base,
    key_base,
    tenant_base,
)
from proa.telemetry.sink import LineSink
from proa.testing.raw_client import RawClient
from proa.testing.raw_response import RawResponse
from proa.testing.scripted_engine import ScriptedEngine

NAMES = ("main", "aux", *(f"engine{number}" for number in range(2, 16)))
CARD = {"object": "model", "owned_by": "script"}
WAIT_S = 30.0  # a bound, not a pace: busy machines get there, too

AnyEngine = ScriptedEngine | EngineSpec | str


class UnsweptLoop:
    """The running loop without the plane's timer: tests sweep themselves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """The plane asks for its next sweep."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class RecordingLog(Log):
    """Keeps the records of requests in place of lines."""

    def __init__(self) -> None:
        super().__init__(LineSink(os.devnull))
        self.records: list[RequestRecord] = []

    def request(self, record: RequestRecord) -> None:
        self.records.append(record)


class Gateway:
    """A data plane that listens; made by `serving`.

    `records` has one entry for each finished request, in order of their ends.
    """

    def __init__(
        self, settings: GatewaySettings, *, tls: ssl.SSLContext | None = None,
        rows: SharedRows | None = None, row_index: int = 1,
    ) -> None:  # fmt: skip
        self.shift_s = 0.0
        self._own_rows = rows is None
        self.rows = rows or SharedRows.create(3)
        self.rows.use(row_index)
        self.row = self.rows.rows[row_index]
        loop = cast(asyncio.AbstractEventLoop, UnsweptLoop(asyncio.get_running_loop()))
        self.plane = DataPlane(loop, self.rows, row_index, Random(1), clock=self.clock)
        self.plane.log = self._log = RecordingLog()
        self.url = ""
        self._tls = tls
        self._generation = 0
        self._sequence = 0
        self._slots: dict[str, int] = {}
        self._key_slots: dict[str, int] = {}
        self._tenant_slots = {DEFAULT_TENANT: 0}
        self._server: asyncio.Server | None = None
        self.apply(settings)
        self.see()

    @property
    def records(self) -> list[RequestRecord]:
        return self._log.records

    # what the control plane does

    def apply(self, settings: GatewaySettings) -> None:
        """A new generation of settings."""
        for engine in settings.engines:
            self._slots.setdefault(engine.name, len(self._slots))
        for key in settings.keys or ():
            self._key_slots.setdefault(key.name, len(self._key_slots))
        for tenant in settings.tenants:
            self._tenant_slots.setdefault(tenant.name, len(self._tenant_slots))
        self._generation += 1
        slots = {engine.name: self._slots[engine.name] for engine in settings.engines}
        key_slots = {key.name: self._key_slots[key.name] for key in settings.keys or ()}
        self.plane.apply_settings(
            ApplySettings(
                self._generation, settings, slots, key_slots, "harness", self._tenant_slots
            )
        )

    def see(
        self,
        states: dict[str, EngineState] | None = None,
        models: dict[str, Sequence[str]] | None = None,
    ) -> None:
        """Publish a fleet: all engines ready with the model `scripted`, but for what is given."""
        self._sequence += 1
        views = []
        for spec in self.plane.settings.engines:
            names = (models or {}).get(spec.name, ("scripted",))
            cards = tuple(
                ModelView(name, msgspec.Raw(msgspec.json.encode({"id": name} | CARD)))
                for name in names
            )
            kind = EngineKind.OPENAI if spec.kind is EngineKind.AUTO else spec.kind
            state = (states or {}).get(spec.name, EngineState.READY)
            views.append(
                EngineView(name=spec.name, kind=kind, state=state, models=cards, models_known=True)
            )
        self.plane.apply_fleet(FleetView(self._sequence, tuple(views)))

    # time

    def clock(self) -> float:
        return time.monotonic() + self.shift_s

    def advance(self, seconds: float) -> None:
        """Move the gateway's clock forward and sweep once at the new time."""
        self.shift_s += seconds
        self.plane.sweep()

    async def until(self, condition: Callable[[], bool], what: str = "condition") -> None:
        """Turn the loop until `condition` holds.

        Raises:
            AssertionError: it did not within `WAIT_S`.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                while not condition():
                    await asyncio.sleep(0)
        except TimeoutError:
            raise AssertionError(f"no {what} within {WAIT_S} s: {self.gauges()}") from None

    async def until_swept(self, condition: Callable[[], bool], what: str = "condition") -> None:
        """As `until`, with a sweep in every turn; the clock stands where it is."""

        def swept() -> bool:
            self.plane.sweep()
            return condition()

        await self.until(swept, what)

    async def until_idle(self) -> None:
        """Wait until no request is open; connections may be."""
        await self.until(lambda: not self._busy(), "end of all requests")

    # counters

    def header(self, cell: int) -> int:
        """A `Header` cell of the worker's row."""
        self.plane.flush_counters()
        return self.row[cell]

    def engine(self, name: str, cell: int) -> int:
        """An `Engine` cell of the worker's row."""
        self.plane.flush_counters()
        return self.row[engine_base(self._slots[name]) + cell]

    def histogram(self, name: str, bucket_cell: int) -> int:
        """How much one of an engine's histograms has counted."""
        return sum(self.engine(name, bucket_cell + n) for n in range(len(TTFT_BOUNDS_US) + 1))

    def key(self, name: str, cell: int) -> int:
        """A `Key` cell of the worker's row."""
        return self.row[key_base(self._key_slots[name]) + cell]

    def tenant(self, name: str, cell: int) -> int:
        """A `Tenant` cell of the worker's row."""
        return self.row[tenant_base(self._tenant_slots[name]) + cell]

    def in_flight(self, name: str) -> int:
        return self.engine(name, Engine.IN_FLIGHT)

    def gauges(self) -> dict[str, int]:
        """What must be zero while nobody is connected."""
        found = {
            "connections": self.header(Header.CONNECTIONS),
            "open exchanges": self.header(Header.OPEN_EXCHANGES),
            "body bytes": self.header(Header.BODY_BYTES),
            "queued": sum(self.header(Header.QUEUED + rank) for rank in range(4)),
            "head of the queue": self.header(Header.HEAD_CLASS),
        }
        found |= {f"in flight {name}": self.in_flight(name) for name in self._slots}
        found |= {f"key {name}": self.key(name, Key.IN_FLIGHT) for name in self._key_slots}
        for name in self._tenant_slots:
            found[f"tenant {name}"] = self.tenant(name, Tenant.IN_FLIGHT)
            found[f"waiting of {name}"] = self.tenant(name, Tenant.WAITING)
            held = self.tenant(name, Tenant.HELD_INPUT), self.tenant(name, Tenant.HELD_OUTPUT)
            found[f"held by {name}"] = sum(map(abs, held))
        return found

    def _busy(self) -> bool:
        gauges = self.gauges()
        del gauges["connections"]
        return any(gauges.values())

    async def until_clear(self) -> None:
        """Wait until every gauge is zero."""
        await self.until(lambda: not any(self.gauges().values()), "clear gauges")

    # clients

    def client(self, *, timeout_s: float = WAIT_S) -> AbstractAsyncContextManager[RawClient]:
        return RawClient.connect(self.url, timeout_s=timeout_s)

    async def ask(self, request: bytes, *, method: str = "POST") -> RawResponse:
        """One request on a connection of its own."""
        async with self.client() as client:
            await client.send(request)
            return await client.read_response(method=method)

    # life

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: ClientConnection(self.plane), "127.0.0.1", 0, ssl=self._tls, backlog=4096
        )
        scheme = "https" if self._tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """End all connections, clients' and pooled ones."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.plane.connections):
            connection.transport.abort()
        await self.until_clear()
        for link in self.plane.dispatcher.links:
            link.close_idle()
        await asyncio.sleep(0)
        self._log.close()
        if self._own_rows:
            os.close(self.rows.descriptor)


@asynccontextmanager
async def serving(
    *engines: AnyEngine,
    limits: LimitsSettings | None = None,
    tls: ssl.SSLContext | None = None,
    **settings: Any,
) -> AsyncIterator[Gateway]:
    """A gateway before `engines`, which are named by `NAMES`; `settings` as `GatewaySettings`.

    Raises:
        AssertionError: at the end, when a gauge does not come back to zero, or when a
            scripted engine saw anything that HTTP does not allow.
    """
    specs = tuple(engine_spec(engine, name) for engine, name in zip(engines, NAMES, strict=False))
    gateway = Gateway(
        GatewaySettings(engines=specs, limits=limits or LimitsSettings(), **settings), tls=tls
    )
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()
    for engine in engines:
        if isinstance(engine, ScriptedEngine):
            assert engine.violations == []


def engine_spec(engine: AnyEngine, name: str, **more: Any) -> EngineSpec:
    """The configuration of an engine; one that is a specification already stays."""
    if isinstance(engine, EngineSpec):
        return engine
    url = engine.url if isinstance(engine, ScriptedEngine) else engine
    return EngineSpec(name=name, url=url, **more)


def key_spec(
    name: str,
    text: str,
    *,
    max_concurrent_requests: int = 0,
    priority: Priority | None = None,
    tenant: str = DEFAULT_TENANT,
) -> KeySpec:
    """An API key whose text is `text`."""
    digest = sha256(text.encode()).digest()
    return KeySpec(
        name=name,
        digest=digest,
        max_concurrent_requests=max_concurrent_requests,
        priority=priority,
        tenant=tenant,
    )


def descriptors() -> set[tuple[str, str]]:
    """Open descriptors of this process with what they lead to."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
        except FileNotFoundError:
            continue  # the listing's own
    return found
