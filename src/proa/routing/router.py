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

import msgspec

from proa.domain.fleet import FleetView
from proa.domain.request import RouteRequest
from proa.routing.candidates import Catalogue
from proa.routing.classify.model import ready
from proa.routing.decision import NO_ENGINE_LEFT, RETRY_AFTER_S, Choice, Refusal, RouteMatch
from proa.routing.loads import Loads
from proa.routing.needs import Needs, needs_of
from proa.routing.overflow import OverflowState, pressure
from proa.routing.policy.base import PolicyMemory
from proa.routing.policy.registry import make_policy
from proa.routing.route import Route
from proa.routing.rules import exact_path
from proa.routing.shares import admitted
from proa.routing.spec import PolicyName, RouteSpec, RoutingSpec

CATCH_ALL = "default"


class Router:
    """Routing compiled for one configuration and one fleet view; built anew when either changes.

    `memory` is what policies remember; a worker hands the same one to all its routers.
    """

    def __init__(
        self, spec: RoutingSpec, fleet: FleetView, memory: PolicyMemory | None = None
    ) -> None:
        names = [engine.name for engine in fleet.engines]
        memory = PolicyMemory() if memory is None else memory
        self._policy = make_policy(spec, names, memory)
        self._overflows = memory.overflows
        loadable = {a.name: a for a in spec.adapters if spec.policy is PolicyName.LORA}
        qualities = {model.name: model.quality for model in spec.models}
        catalogue = Catalogue(fleet, qualities, loadable)
        memory.adapters.know(fleet.engines, loadable)
        memory.prefixes.know(fleet.engines)
        self.loadable = loadable
        specs = (*spec.routes, RouteSpec(name=CATCH_ALL))
        routes = [Route(route, catalogue, spec.policy.value) for route in specs]
        paths = [exact_path(route.match) for route in specs]
        self._any_path = _reachable(routes, paths, None)
        self._by_path = {p: _reachable(routes, paths, p) for p in paths if p is not None}
        self._any_needs = needs_of(spec, None)
        self._needs = {p: needs_of(spec, p) for p in paths if p is not None}
        self.session_header = spec.policy_options.session_header
        self.asks_of_policy = self._any_needs.policy
        self._classifier = None if spec.classifier is None else ready(spec.classifier.model)
        self._min_probability = 0.0 if spec.classifier is None else spec.classifier.min_probability

    def classified(self, text: str) -> str | None:
        """The class of a text, None where it is not certain enough."""
        if self._classifier is None:
            return None
        name, probability = self._classifier.classify(text)
        return name if probability >= self._min_probability else None

    def needs(self, path: str) -> Needs:
        """What must be known of a request on `path` beside its model."""
        return self._needs.get(path, self._any_needs)

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
        if match.fallback is not None and not any(shares[i] > 0.0 for i in pool):
            return _exhausted(match)
        for index in pool:
            if shares[index] < 1.0:
                pool = admitted(pool, shares, rng)
                break
        if match.preferred:
            pool = self._by_preference(match, pool, loads, request)
        if len(pool) == 1 and not self._policy.is_always_asked:
            return match.choices[pool[0]]
        if match.rewrites_model:
            request = msgspec.structs.replace(request, model=match.model)
        return match.choices[self._policy.pick(pool, loads, request, rng)]

    def _by_preference(
        self, match: RouteMatch, pool: Sequence[int], loads: Loads, request: RouteRequest
    ) -> Sequence[int]:
        preferred: Sequence[int] = match.preferred
        if len(pool) != len(match.pool):
            preferred = [i for i in preferred if i in pool]
            if not preferred:
                return pool
        when = match.overflow_when
        if when is None:
            return preferred
        state = self._overflows.get(match.route)
        if state is None:
            state = self._overflows[match.route] = OverflowState()
        is_open = state.decide(pressure(when, preferred, loads, request), loads.now_s)
        return pool if is_open else preferred


def _reachable(routes: list[Route], paths: list[str | None], path: str | None) -> tuple[Route, ...]:
    """The routes that a request on `path` can take, in order."""
    return tuple(r for r, own in zip(routes, paths, strict=True) if own in (None, path))


def _exhausted(match: RouteMatch) -> Refusal:
    message = f"Every engine of route `{match.route}` that could answer has failed"
    return Refusal(503, NO_ENGINE_LEFT, message, RETRY_AFTER_S)
