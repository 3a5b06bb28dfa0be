"""One generation of routing in a worker: the router with the links of its engines.

An exchange keeps the dispatcher that it began with, because engine indexes mean
something only there; links and their counters outlive dispatchers.
"""

from random import Random

from proa.domain.fleet import FleetView
from proa.domain.request import RouteRequest
from proa.gateway.link import EngineLink
from proa.gateway.turns import Turns
from proa.routing.breaker import slow_start_share
from proa.routing.decision import Choice, Refusal, RouteMatch
from proa.routing.loads import Loads
from proa.routing.policy.base import PolicyMemory
from proa.routing.router import Router
from proa.routing.spec import RoutingSpec
from proa.telemetry.rows import Engine


class Dispatcher:
    """`links[i]` belongs to `fleet.engines[i]`; `other_rows` are those of the other workers."""

    def __init__(
        self, spec: RoutingSpec, fleet: FleetView, links: list[EngineLink],
        other_rows: list[memoryview], memory: PolicyMemory, rng: Random,
    ) -> None:  # fmt: skip
        self.router = Router(spec, fleet, memory)
        self.fleet = fleet
        self.links = links
        self._other_rows = other_rows
        self._rng = rng
        self._slow_start_s = spec.breaker.slow_start_s
        self.loads = Loads(len(links))
        self.turns: Turns | None = None

    def choose(
        self, match: RouteMatch, request: RouteRequest, tried: tuple[int, ...]
    ) -> Choice | Refusal:
        """An engine for the match, from all workers' counts as they stand now."""
        loads, links, turns = self.loads, self.links, self.turns
        in_flight = loads.in_flight = [link.in_flight for link in links]
        waiting = loads.waiting_bytes = [link.waiting_bytes for link in links]
        limits = loads.limits_in_flight = [link.limits_in_flight for link in links]
        if self._other_rows:
            self._add_others(in_flight, Engine.IN_FLIGHT)
            self._add_others(limits, Engine.LIMITS_IN_FLIGHT)
            self._add_others(waiting, Engine.WAITING_BYTES)
        if turns is not None and turns.is_limited:
            barred = turns.barred(self, match, tried)
            if barred is None:
                return Refusal(429, "queue_full", "No engine has room", None, match.waiting)
            tried = barred
        return self.router.choose(match, request, loads, excluded=tried, rng=self._rng)

    def in_flight(self) -> list[int]:
        """Requests of all workers that each engine has at this moment."""
        counts = [link.in_flight for link in self.links]
        self._add_others(counts, Engine.IN_FLIGHT)
        return counts

    def sequences(self) -> list[int]:
        """Requests that each engine decodes, of all workers and of other clients."""
        waiting = [link.waiting for link in self.links]
        self._add_others(waiting, Engine.WAITING)
        counts = zip(self.in_flight(), waiting, self.loads.foreign, strict=True)
        return [own - queued + foreign for own, queued, foreign in counts]

    def _add_others(self, own: list[int], gauge: int) -> None:
        """Add the other workers' shares of an engine gauge to this one's own."""
        for row in self._other_rows:
            for index, link in enumerate(self.links):
                own[index] += row[link.base + gauge]

    def refresh_shares(self, now_s: float) -> None:
        """Ask breakers and slow starts again; called by the sweep and when a breaker moved."""
        self.loads.now_s = now_s
        for index, link in enumerate(self.links):
            share = link.share(now_s)
            ready_since_s = self.fleet.engines[index].ready_since_s
            if ready_since_s:
                share = min(share, slow_start_share(ready_since_s, now_s, self._slow_start_s))
            self.loads.shares[index] = share

    def decision_lines(self, choice: Choice) -> bytes:
        """The `x-proa-engine` and `x-proa-decision` header lines of a choice."""
        lines = self.links[choice.index].decisions.get(choice.reason)
        if lines is None:
            text = f"x-proa-engine: {choice.engine_header}\r\nx-proa-decision: {choice.reason}\r\n"
            lines = self.links[choice.index].decisions[choice.reason] = text.encode("ascii")
        return lines
