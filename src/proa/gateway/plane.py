"""What all exchanges of one worker share: settings, keys, routing, counters, the clock.

`now` is a coarse monotonic time that the sweep sets every 250 ms; deadlines and
pools use it, so that no event pays for a clock or a timer.
"""

import asyncio
import ipaddress
import os
import time
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from proa.domain.fleet import EngineSpec, EngineState, EngineView, FleetView
from proa.domain.load import LoadView
from proa.domain.outcome import Outcome
from proa.domain.request_record import RequestRecord
from proa.engines.models import bare_model
from proa.gateway.adapter_loader import AdapterLoader
from proa.gateway.answers import error_body
from proa.gateway.connection_time import sweep_connection
from proa.gateway.cors import Cors
from proa.gateway.dispatcher import Dispatcher
from proa.gateway.doorkeeper import Doorkeeper
from proa.gateway.exchange import Exchange
from proa.gateway.guard_helper import GuardHelper
from proa.gateway.guarded_exchange import GuardedExchange
from proa.gateway.guarding import GatewayGuard
from proa.gateway.heads import Heads
from proa.gateway.hedge import Hedges
from proa.gateway.keys import KeyRing, tenant_entries
from proa.gateway.ledger import Ledger
from proa.gateway.link import EngineLink
from proa.gateway.messages import ApplySettings
from proa.gateway.pace import Windows
from proa.gateway.recorder import Recorder
from proa.gateway.request_record import refused_record, request_record
from proa.gateway.settings import GatewaySettings
from proa.gateway.token_book import TokenBook
from proa.gateway.waiting_room import WaitingRoom
from proa.routing.policy.base import PolicyMemory
from proa.routing.retry_budget import RetryBudget
from proa.telemetry.logs import Log
from proa.telemetry.rows import (
    GUARD_AT,
    GUARD_CELLS,
    HEADER_CELLS,
    Guard,
    Header,
    SharedRows,
    Tally,
    engine_base,
)
from proa.wire.response_head import CLOSE, STATUS_LINES
from proa.wire.surface import Api

if TYPE_CHECKING:
    from proa.gateway.connection import ClientConnection

SWEEP_S = 0.25
_ID_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class DataPlane:
    """One worker's state. `apply_settings` must come before anything else."""

    settings: GatewaySettings
    dispatcher: Dispatcher
    doorkeeper: Doorkeeper
    cors: Cors

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        rows: SharedRows,
        row_index: int,
        rng: Random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.loop = loop
        self.rows = rows
        self.row = rows.rows[row_index]
        self._row_index = row_index
        self.other_rows: list[memoryview] = []
        self.open_exchanges = 0
        self._tally = Tally(self.row, 0, HEADER_CELLS)
        self.counts = self._tally.counts
        self.rng = rng
        self.clock = clock
        self.wall_clock: Callable[[], float] = time.time
        self.now = clock()
        self.wall_now_s = self.wall_clock()
        self.oldest_idle_s = 0.0
        self.draining = False
        self.idle_until = 0.0
        self.connections: set[ClientConnection] = set()
        self.fleet = FleetView(0, ())
        self.tokens = TokenBook()
        self.ledger = Ledger(rows, row_index)
        self.log: Log | None = None
        self.recorder: Recorder | None = None
        self.retry_budget = RetryBudget(0.0)
        self.hedges: Hedges | None = None
        self._links: dict[str, EngineLink] = {}
        self._published = FleetView(0, ())
        self._loads = LoadView(0, ())
        self._memory = PolicyMemory()
        self.loader = AdapterLoader(loop, self._memory.adapters)
        self._per_client: dict[str, int] = {}
        self.new_exchange: type[Exchange] = Exchange
        self.guard: GatewayGuard | None = None
        self.guard_helper = GuardHelper(loop, clock)
        self._guard_tally = Tally(self.row, GUARD_AT, GUARD_CELLS)
        self._id_prefix = os.urandom(6).hex().encode()
        self._id_count = 0
        self._swept_at = self.now
        self._windows = Windows()
        self.room = WaitingRoom(self, Heads(rows, row_index, self.other_rows))
        self.row[Header.PID] = os.getpid()

    # generations

    def apply_settings(self, message: ApplySettings) -> None:
        """Swap to a new generation; open exchanges keep the one that they began with."""
        before = getattr(self, "settings", None)
        settings = message.settings
        self.settings = settings
        tenants = tenant_entries(settings.tenants, message.tenant_slots)
        self.ledger.equip(tenants.values(), settings)
        keys = settings.keys
        ring = None if keys is None else KeyRing(keys, message.key_slots, tenants)
        self.cors = Cors(settings.cors_allow_origins)
        self.via = b"1.1 proa-" + message.instance.encode()
        self.doorkeeper = Doorkeeper(ring, self.cors, self.via)
        self._trusted = [
            ipaddress.ip_network(text, strict=False) for text in settings.trusted_proxies
        ]
        if before is None or before.retry_budget != settings.retry_budget:
            self.retry_budget = RetryBudget(settings.retry_budget)
        if self.hedges is None and settings.routing.policy_options.hedge:
            self.hedges = Hedges(self)
        if self.hedges is not None:
            self.hedges.configure(settings.routing.policy_options)
        self.room.configure(settings.admission)
        self.room.heads.fair.configure(message.tenant_slots, settings.tenants)
        self._apply_guard(settings)
        self._apply_engines(settings, message.engine_slots)
        self.apply_fleet(self._published)
        self.other_rows[:] = self.rows.others(self._row_index)
        self.row[Header.GENERATION] = message.generation

    def _apply_guard(self, settings: GatewaySettings) -> None:
        if settings.guard is None:
            self.guard, self.new_exchange = None, Exchange
        else:
            self.guard = GatewayGuard(settings, self._guard_tally.counts)
            self.new_exchange = GuardedExchange

    def _apply_engines(self, settings: GatewaySettings, slots: dict[str, int]) -> None:
        """Links stay for the worker's life, so that an engine's counts have one writer."""
        breaker = settings.routing.breaker
        self._leave_slots(slots)
        for spec in settings.engines:
            link = self._links.get(spec.name)
            if link is None:
                link = self._links[spec.name] = EngineLink(
                    spec, self.row, slots[spec.name], breaker
                )
                link.changed = self._shares_changed
            else:
                link.configure(spec, breaker)
        for name in self._links.keys() - slots.keys():
            self._links[name].close_idle()

    def _leave_slots(self, slots: dict[str, int]) -> None:
        """Links whose cells another engine gets end here; no exchange knows them any more."""
        taken = {engine_base(slot) for slot in slots.values()}
        for name, link in list(self._links.items()):
            own = slots.get(name)
            if link.base in taken if own is None else link.base != engine_base(own):
                self._links.pop(name).leave()

    def apply_fleet(self, view: FleetView) -> None:
        """Route by a new view from now on."""
        self._published = view
        engines = tuple(_seen(spec, view) for spec in self.settings.engines)
        self.fleet = FleetView(view.sequence, engines)
        self.tokens.know(self.fleet)
        links = [self._links[engine.name] for engine in engines]
        for engine, link in zip(engines, links, strict=True):
            link.seen_as(engine.kind)
            link.is_unreachable = engine.state is EngineState.UNREACHABLE
        self.dispatcher = Dispatcher(
            self.settings.routing, self.fleet, links, self.other_rows, self._memory, self.rng
        )
        self.dispatcher.turns = self.room.turns
        self._shares_changed()
        self.room.rematch()
        self.apply_loads(self._loads)
        self.row[Header.FLEET_SEQUENCE] = view.sequence

    def apply_loads(self, view: LoadView) -> None:
        """Choose by a new view of the engines' loads from now on."""
        self._loads = view
        self.dispatcher.loads.apply(view, [link.name for link in self.dispatcher.links])
        self._memory.caches.apply(view.engines)
        self.row[Header.LOADS_SEQUENCE] = view.sequence
        self.room.turns.places_changed()

    def _shares_changed(self) -> None:
        self.dispatcher.refresh_shares(self.clock())

    # connections

    def opened(self, connection: "ClientConnection") -> None:
        """A client connected; above the limits it is told so and closed."""
        self.connections.add(connection)
        if self.draining:
            self.idle_until = self.clock() + self.settings.limits.linger_s
        self.row[Header.CONNECTIONS] += 1
        self.row[Header.ACCEPTED] += 1
        limits = self.settings.limits
        if limits.max_connections_per_client:
            count = self._per_client[connection.peer] = self._per_client.get(connection.peer, 0) + 1
            if count > limits.max_connections_per_client:
                self._too_many(connection, 429, "limits.max_connections_per_client")
        others = sum(row[Header.CONNECTIONS] for row in self.other_rows)
        if len(self.connections) + others > limits.max_connections:
            self._too_many(connection, 503, "limits.max_connections")

    def _too_many(self, connection: "ClientConnection", status: int, key: str) -> None:
        if not connection.closing:
            self.counts[Header.REFUSED_LIMIT] += 1
            self.refuse_connection(connection, status, f"more connections than {key} allows")
            connection.linger()

    def closed(self, connection: "ClientConnection") -> None:
        self.connections.discard(connection)
        self.row[Header.CONNECTIONS] -= 1
        if self._per_client:
            left = self._per_client.get(connection.peer, 0) - 1
            if left > 0:
                self._per_client[connection.peer] = left
            else:
                self._per_client.pop(connection.peer, None)

    def refuse_connection(self, connection: "ClientConnection", status: int, message: str) -> None:
        """Answer something that never became a request."""
        body = error_body(Api.OPENAI, status, message)
        retry = b"retry-after: 1\r\n" if status in (429, 503) else b""
        head = b"%bcontent-type: application/json\r\ncontent-length: %d\r\n%bx-request-id: %b\r\n%b"
        identity = self.request_id(None)
        start = head % (STATUS_LINES[status], len(body), retry, identity, CLOSE)
        connection.transport.write(start + b"\r\n" + body)
        self._tell(refused_record(identity, status))

    def trusts(self, peer: str) -> bool:
        """Whether a peer's forwarding headers are believed."""
        if not self._trusted or peer == "unix":
            return bool(self._trusted)
        address = ipaddress.ip_address(peer.partition("%")[0])
        return any(address in network for network in self._trusted)

    def over_body_budget(self) -> bool:
        return self.row[Header.BODY_BYTES] > self.settings.limits.body_budget_bytes

    # requests

    def request_id(self, sent: bytes | None) -> bytes:
        """The client's id if it is a plain word, else a new one, unique over workers."""
        if sent is not None and 0 < len(sent) <= 128 and _ID_CHARACTERS.issuperset(sent):
            return sent
        self._id_count += 1
        return b"%b%08x" % (self._id_prefix, self._id_count)

    @property
    def ready(self) -> bool:
        return not self.draining and any(
            engine.state.takes_traffic for engine in self.fleet.engines
        )

    @property
    def not_ready_reason(self) -> str:
        return "the gateway is draining" if self.draining else "no engine takes traffic"

    def log_exchange(
        self, exchange: "Exchange", outcome: Outcome, status: int, duration_s: float
    ) -> None:
        """The request's line in the log, and its record."""
        self._tell(request_record(exchange, outcome, status, duration_s))

    def _tell(self, record: RequestRecord) -> None:
        if self.log is not None and self.settings.logs.requests:
            self.log.request(record)
        if self.recorder is not None and self.settings.records:
            self.recorder.take(record)

    # time

    def sweep(self) -> None:
        """All timeouts, pools, shares and log buffers; schedules itself again, whatever happens."""
        self.loop.call_later(SWEEP_S, self.sweep)
        now = self.clock()
        seconds = now - self._swept_at
        lag_s = max(0.0, seconds - SWEEP_S)
        self.row[Header.LOOP_LAG_US] = int(lag_s * 1e6)
        self._swept_at = now
        self.now = now
        self.wall_now_s = self.wall_clock()
        for connection in list(self.connections):
            try:
                sweep_connection(connection, now)
            except Exception as error:  # one that fails must not keep the others from theirs
                self.loop.call_exception_handler({"message": "sweep", "exception": error})
                connection.transport.abort()
        self._close_windows(seconds, lag_s)
        self.oldest_idle_s = now - self.settings.limits.pool_idle_s
        for link in self._links.values():
            link.close_idle(self.oldest_idle_s)
        if self._loads.expires_s is not None and now >= self._loads.expires_s:
            self.apply_loads(self._loads.faded())
        self.dispatcher.refresh_shares(now)
        self.room.sweep()
        self.guard_helper.sweep()
        self.retry_budget.deposit(self.counts[Header.REQUESTS])
        self.flush_counters()
        self.other_rows[:] = self.rows.others(self._row_index)
        if self.log is not None:
            self.log.flush()
            self.row[Header.LOG_DROPPED] = self.log.dropped
        if self.recorder is not None:
            self.recorder.flush()

    def _close_windows(self, seconds: float, lag_s: float) -> None:
        """What came since the last sweep counts for the engines' speeds, unless we were late."""
        is_good = self._windows.is_good(lag_s)
        sequences = self.dispatcher.sequences()
        for link, running in zip(self.dispatcher.links, sequences, strict=True):
            self._windows.close(link, running, seconds, is_good=is_good)

    def flush_counters(self) -> None:
        """Move what was counted since the last time to the shared row."""
        self._tally.flush()
        if self.guard is not None:
            self.row[GUARD_AT + Guard.HELPERS] = self.guard_helper.spawned
            self._guard_tally.flush()
        for link in self._links.values():
            link.tally.flush()

    def drain(self) -> None:
        """Say goodbye on every answer; idle connections end after the linger time."""
        self.draining = True
        self.row[Header.DRAINING] = 1
        self.idle_until = self.clock() + self.settings.limits.linger_s


def _seen(spec: EngineSpec, view: FleetView) -> EngineView:
    """The engine in the view; one not asked yet is unknown, with its configured models."""
    known = view.engine(spec.name)
    if known is not None:
        return known
    models = tuple(map(bare_model, spec.models))
    return EngineView(
        name=spec.name,
        kind=spec.kind,
        state=EngineState.UNKNOWN,
        models=models,
        models_known=bool(models),
    )
