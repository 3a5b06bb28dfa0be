"""What a worker keeps for one engine: address, idle connections, breaker, its cells."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from proa.domain.fleet import EngineKind, EngineSpec
from proa.domain.outcome import Outcome
from proa.engines.dialect import dialect_of
from proa.engines.door import EngineDoor, door_key
from proa.gateway.peers import watch_peer
from proa.routing.breaker import Breaker
from proa.routing.refusals import Refusals
from proa.routing.spec import BreakerSpec
from proa.telemetry.finished import EngineTally
from proa.telemetry.rows import ENGINE_CELLS, Engine, engine_base
from proa.wire.response_parser import AnswerMemo

if TYPE_CHECKING:
    from proa.gateway.pace import Pace
    from proa.gateway.upstream import UpstreamConnection

_IDLE_MAX = 512
NO_CAP = 2**62
_REFUSED = (Outcome.BUSY, Outcome.NOT_READY)
_CLEAR = memoryview(bytes(ENGINE_CELLS * 8)).cast("q")


class EngineLink:
    """Lives until its worker ends or another engine needs its cells, over all reloads.

    `request_lines` are the header lines that every request to this engine carries.
    `troubled` is false while its breaker has nothing to remember. `moved_at` is the
    coarse time of its last byte. `changed` is called when its share may have changed.
    `dialect` is None where no request needs a translation, `dialect_bits` tell the surfaces
    whose requests may need one.
    `is_unreachable` is what the control plane says of the engine.
    `counts` are its counters until the next `tally.flush`.
    `limits_in_flight` is the sum of what clients limit the answers of `in_flight` to.
    `cap` is how many requests all workers may give it at one time; `freed`, where there is
    a cap, is called when one of them has ended.
    `waiting` streams, of `waiting_bytes` together, have not begun; `sole` is the last one
    if it met no other and no other met it. `sequences` were decoding at the last sweep.
    """

    def __init__(self, spec: EngineSpec, row: memoryview, slot: int, breaker: BreakerSpec) -> None:
        self.row = row
        self.base = engine_base(slot)
        self.tally = EngineTally(row, slot)
        self.counts = self.tally.counts
        self.in_flight = self.limits_in_flight = 0
        self.in_flight_cell = self.base + Engine.IN_FLIGHT
        self.limits_cell = self.base + Engine.LIMITS_IN_FLIGHT
        self.troubled = False
        self.is_unreachable = False
        self.breaker = Breaker(breaker)
        self._breaker_spec = breaker
        self._refusals = Refusals()
        self.answers = AnswerMemo()
        self.decisions: dict[str, bytes] = {}
        self.idle: deque[UpstreamConnection] = deque()
        self.kind = spec.kind
        self.moved_at = 0.0
        self.waiting = 0
        self.waiting_bytes = 0
        self.waiting_cell = self.base + Engine.WAITING
        self.sole: Pace | None = None
        self.sequences = 0
        self.changed: Callable[[], None] = lambda: None
        self.cap = NO_CAP
        self.freed: Callable[[EngineLink], None] | None = None
        self.door = EngineDoor(spec)
        self.configure(spec, breaker)

    def configure(self, spec: EngineSpec, breaker: BreakerSpec) -> None:
        """Take new settings for the same engine; another address or TLS empties the pool."""
        if self.door.key != door_key(spec):
            self.close_idle()
            self.door = EngineDoor(spec)
        if breaker != self._breaker_spec:
            self.breaker, self._breaker_spec, self.troubled = Breaker(breaker), breaker, False
        self.spec = spec
        self._speak(self.kind)
        self.name = spec.name
        self.path_prefix = self.door.path_prefix.encode()
        self.sends_key = bool(spec.api_key)
        key = f"authorization: Bearer {spec.api_key}\r\n" if spec.api_key else ""
        host = f"host: {self.door.authority}\r\n"
        self.request_lines = f"{host}accept-encoding: identity\r\n{key}".encode()

    def seen_as(self, kind: EngineKind) -> None:
        """The control plane knows what the engine is."""
        if kind is not self.kind:
            self._speak(kind)

    def _speak(self, kind: EngineKind) -> None:
        self.kind = kind
        self.dialect = dialect_of(self.spec, kind)
        self.dialect_bits = self.dialect.bits if self.dialect is not None else 0

    async def connect(self, factory: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        """A new connection.

        Raises:
            OSError: refused, unreachable, not resolved or not allowed, or TLS failed.
        """
        self.counts[Engine.CONNECTS] += 1
        transport, protocol = await self.door.connect(factory)
        if self.door.unix_path is None:
            watch_peer(transport.get_extra_info("socket"))
        return protocol

    def idle_connection(self, oldest_s: float) -> "UpstreamConnection | None":
        """The most recently used idle connection that is not older than `oldest_s`."""
        while self.idle:
            connection = self.idle.pop()
            if connection.usable and connection.idle_since >= oldest_s:
                return connection
            connection.close()
        return None

    def keep(self, connection: "UpstreamConnection", now_s: float) -> None:
        """Put a connection whose exchange is over into the pool, if it leads to where we send."""
        if len(self.idle) >= _IDLE_MAX or connection.door is not self.door:
            connection.close()
            return
        connection.idle_since = now_s
        self.idle.append(connection)

    def close_idle(self, oldest_s: float = float("inf")) -> None:
        """Close idle connections older than `oldest_s`, by default all."""
        while self.idle and self.idle[0].idle_since < oldest_s:
            self.idle.popleft().close()
        self.row[self.base + Engine.IDLE_CONNECTIONS] = len(self.idle)

    def leave(self) -> None:
        """Give its cells back, cleared: they are another engine's from now on."""
        self.close_idle()
        self.row[self.base : self.base + ENGINE_CELLS] = _CLEAR

    def share(self, now_s: float) -> float:
        """The part of its traffic that the engine may get by its own failures."""
        share = self.breaker.share(now_s) * self._refusals.share(now_s)
        self.row[self.base + Engine.BREAKER] = self.breaker.state(now_s)
        return share

    def begin(self, now_s: float) -> bool:
        """Whether the try that starts now is the half-open breaker's trial."""
        trial = self.breaker.begin(now_s)
        if trial:
            self.changed()
        return trial

    def record(self, outcome: Outcome, now_s: float, *, trial: bool) -> None:
        """Feed the breaker with how a try went; an engine that refuses gets less for a while."""
        if outcome in _REFUSED:
            self._refusals.record(now_s)
        self.breaker.record(outcome, now_s, trial=trial)
        self.troubled = self.breaker.troubled
        self.changed()
