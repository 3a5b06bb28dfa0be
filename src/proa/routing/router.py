"""The router: which route a request takes, and which engine gets it.

1. `match`: routes from top to bottom, the first whose checks hold wins; the last is
   an implicit catch-all over all engines (`rules.py`, `route.py`).
2. A route narrows the engines to those that have the model, are good enough, speak
   the path's protocol and take traffic (`candidates.py`).
3. `choose`: without engines already tried and without those ejected by their own
   failures (`shares.py`), preferred before overflow, one by policy (`policy/`).
"""

from collections.abc import Collection, Sequence
from random import Random

from proa.domain.fleet import FleetView
from proa.domain.request import RouteRequest
from proa.routing.candidates import Catalogue
from proa.routing.decision import RETRY_AFTER_S, Choice, Refusal, RouteMatch
from proa.routing.loads import Loads
from proa.routing.policy.base import PolicyMemory
from proa.routing.policy.registry import make_policy
from proa.routing.route import Route
from proa.routing.rules import exact_path
from proa.routing.shares import admitted
from proa.routing.spec import RouteSpec, RoutingSpec

CATCH_ALL = "default"


class Router:
    """Routing compiled for one configuration and one fleet view; built anew when either changes.

    `memory` is what policies remember; a worker hands the same one to all its routers.
    """

    def __init__(
        self, spec: RoutingSpec, fleet: FleetView, memory: PolicyMemory | None = None
    ) -> None:
        names = [engine.name for engine in fleet.engines]
        self._policy = make_policy(spec, names, memory or PolicyMemory())
        catalogue = Catalogue(fleet, {model.name: model.quality for model in spec.models})
        specs = (*spec.routes, RouteSpec(name=CATCH_ALL))
        routes = [Route(route, catalogue, spec.policy.value) for route in specs]
        paths = [exact_path(route.match) for route in specs]
        self._any_path = _reachable(routes, paths, None)
        self._by_path = {p: _reachable(routes, paths, p) for p in paths if p is not None}
        matches = [route.match for route in spec.routes]
        self.header_names = frozenset(name for match in matches for name, _ in match.headers)
        self.needs_input_tokens = any(
            match.max_input_tokens is not None or match.min_input_tokens is not None
            for match in matches
        )

    def match(self, request: RouteRequest) -> RouteMatch | Refusal:
        """The first route whose conditions hold, with its engines for this model."""
        routes = self._by_path.get(request.path, self._any_path)
        for route in routes:
            for check in route.checks:
                if not check(request):
                    break
            else:
                return route.resolve(request)
        raise AssertionError("the catch-all route has no conditions")

    def choose(
        self,
        match: RouteMatch,
        request: RouteRequest,
        loads: Loads,
        *,
        excluded: Collection[int],
        rng: Random,
    ) -> Choice | Refusal:
        """One engine of the match; `excluded` are the indexes already tried for this request."""
        pool: Sequence[int] = match.pool
        if excluded:
            pool = [i for i in pool if i not in excluded]
            if not pool:
                return _exhausted(match)
        shares = loads.shares
        for index in pool:
            if shares[index] < 1.0:
                pool = admitted(pool, shares, rng)
                break
        if match.preferred:
            pool = _by_preference(match, pool, loads.in_flight)
        if len(pool) == 1:
            return match.choices[pool[0]]
        return match.choices[self._policy.pick(pool, loads, request, rng)]


def _by_preference(
    match: RouteMatch, pool: Sequence[int], in_flight: Sequence[int]
) -> Sequence[int]:
    preferred: Sequence[int] = match.preferred
    if len(pool) != len(match.pool):
        preferred = [i for i in preferred if i in pool]
        if not preferred:
            return pool
    limit = match.overflow_in_flight
    if limit is None:
        return preferred
    for index in preferred:
        if in_flight[index] < limit:
            return preferred
    return pool


def _reachable(routes: list[Route], paths: list[str | None], path: str | None) -> tuple[Route, ...]:
    """The routes that a request on `path` can take, in order."""
    return tuple(r for r, own in zip(routes, paths, strict=True) if own in (None, path))


def _exhausted(match: RouteMatch) -> Refusal:
    message = f"Every engine of route `{match.route}` that could answer has failed"
    return Refusal(503, "no_engine_left", message, RETRY_AFTER_S)
