"""When to believe that an engine came or went: probes in, states out, time as an argument."""

from proa.control.traffic import EngineTraffic
from proa.domain.fleet import EngineState
from proa.engines.base import Health

MISSES_WHEN_IDLE = 3
MISSES_WHEN_BUSY = 20
"""Missed probes in a row that make an engine unreachable, without and with requests
of ours in flight: a long prefill may keep an engine from answering probes."""


class HealthTrack:
    """The state of one engine.

    Good news counts at once, and so does certain bad news (`Health.DOWN`, `LOADING`).
    A missed probe counts only when several came in a row, and not at all while
    answers keep arriving from the engine.
    """

    def __init__(self) -> None:
        self.state = EngineState.UNKNOWN
        self.ready_since_s = 0.0
        self._misses = 0
        self._received = 0

    def observe(self, health: Health, traffic: EngineTraffic, now_s: float) -> EngineState:
        """Take in one probe's result and give the state that follows."""
        moves = traffic.received != self._received
        self._received = traffic.received
        if health is Health.MISSED:
            self._miss(traffic, moves=moves)
            return self.state
        self._misses = 0
        if health is Health.UP:
            self._enter_ready(now_s)
        else:
            down = health is Health.DOWN
            self.state = EngineState.UNREACHABLE if down else EngineState.LOADING
        return self.state

    def _miss(self, traffic: EngineTraffic, *, moves: bool) -> None:
        self._misses = 0 if moves else self._misses + 1
        limit = MISSES_WHEN_BUSY if traffic.in_flight else MISSES_WHEN_IDLE
        if self._misses >= limit:
            self.state = EngineState.UNREACHABLE

    def _enter_ready(self, now_s: float) -> None:
        """An engine that was ready when first asked is warm: it needs no slow start."""
        if self.state in (EngineState.LOADING, EngineState.UNREACHABLE):
            self.ready_since_s = now_s
        self.state = EngineState.READY
