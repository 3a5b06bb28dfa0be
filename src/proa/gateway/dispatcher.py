"""One generation of routing in a worker: the router with the links of its engines.

An exchange keeps the dispatcher that it began with, because engine indexes mean
something only there; links and their counters outlive dispatchers.
"""

from random import Random

from proa.domain.fleet import FleetView
from proa.gateway.body import Asked
from proa.gateway.link import EngineLink
from proa.routing.breaker import slow_start_share
from proa.routing.decision import Choice, Refusal, RouteMatch
from proa.routing.policy.base import PolicyMemory
from proa.routing.router import Router
from proa.routing.spec import RoutingSpec
from proa.telemetry.rows import Engine, SharedRows

_MATCHES_MAX = 1024


class Dispatcher:
    """`links[i]` belongs to `fleet.engines[i]`; `rows` hold all workers' counts."""

    def __init__(
        self, spec: RoutingSpec, fleet: FleetView, links: list[EngineLink], rows: SharedRows,
        memory: PolicyMemory, rng: Random,
    ) -> None:  # fmt: skip
        self.router = Router(spec, fleet, memory)
        self.fleet = fleet
        self.links = links
        self._rows = rows
        self._rng = rng
        self._slow_start_s = spec.breaker.slow_start_s
        self._cells = [link.base + Engine.IN_FLIGHT for link in links]
        self._shares = [1.0] * len(links)
        self._matches: dict[tuple[str, str | None], RouteMatch] = {}
        self._lines: dict[tuple[int, str], bytes] = {}

    def known_match(self, asked: Asked) -> RouteMatch | None:
        """The match of an earlier request for the same path and model, where no more counts."""
        return self._matches.get((asked.path, asked.model))

    def learn_match(self, asked: Asked, match: RouteMatch) -> None:
        """Remember a match, unless headers or the length of the prompt had a say in it."""
        if self.router.needs_input_tokens or self.router.header_names:
            return
        if len(self._matches) >= _MATCHES_MAX:
            self._matches.clear()
        self._matches[asked.path, asked.model] = match

    def choose(self, match: RouteMatch, tried: tuple[int, ...]) -> Choice | Refusal:
        """An engine for the match, from all workers' counts as they stand now."""
        rows = self._rows.active()
        if len(rows) == 1:
            row = rows[0]
            in_flight = [row[cell] for cell in self._cells]
        else:
            in_flight = [sum([row[cell] for row in rows]) for cell in self._cells]
        return self.router.choose(
            match, in_flight=in_flight, shares=self._shares, excluded=tried, rng=self._rng
        )

    def refresh_shares(self, now_s: float) -> None:
        """Ask breakers and slow starts again; called by the sweep and when a breaker moved."""
        for index, link in enumerate(self.links):
            share = link.share(now_s)
            ready_since_s = self.fleet.engines[index].ready_since_s
            if ready_since_s:
                share = min(share, slow_start_share(ready_since_s, now_s, self._slow_start_s))
            self._shares[index] = share

    def decision_lines(self, choice: Choice) -> bytes:
        """The `x-proa-engine` and `x-proa-decision` header lines of a choice."""
        key = (choice.index, choice.reason)
        lines = self._lines.get(key)
        if lines is None:
            text = f"x-proa-engine: {choice.engine_header}\r\nx-proa-decision: {choice.reason}\r\n"
            lines = self._lines[key] = text.encode("ascii")
        return lines
