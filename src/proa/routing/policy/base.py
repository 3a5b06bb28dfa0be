"""What a policy is, and what it may remember."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from proa.domain.request import RouteRequest
from proa.routing.adapters import AdapterBook
from proa.routing.cache_mirror import CacheMirror
from proa.routing.loads import Loads
from proa.routing.overflow import OverflowState
from proa.routing.prefix import PrefixIndex
from proa.routing.spec import PolicyName, RoutingSpec

Memory = dict[str, float]


class PolicyMemory:
    """What policies remember between requests, by policy and engine name.

    It outlives routers: a router is built anew with each fleet view, and several may
    live at once while old exchanges end; all share the worker's one memory. `overflows`
    are by route, `prefixes` and `adapters` by engine name; `caches` keeps `prefixes` true.
    """

    def __init__(self) -> None:
        self._of: dict[PolicyName, Memory] = {}
        self.overflows: dict[str, OverflowState] = {}
        self.prefixes = PrefixIndex()
        self.caches = CacheMirror(self.prefixes)
        self.adapters = AdapterBook()

    def of(self, policy: PolicyName) -> Memory:
        return self._of.setdefault(policy, {})


class Policy(ABC):
    """Picks one of several engines; a fresh one is made for each router.

    `engines` are the names in fleet order; weights are 1.0 where `spec` has none.
    """

    name: ClassVar[PolicyName]
    is_always_asked: ClassVar[bool] = False  # also when there is only one candidate

    def __init__(self, engines: Sequence[str], spec: RoutingSpec, memory: PolicyMemory) -> None:
        weights = spec.weights
        self._engines = tuple(engines)
        self._weights = tuple(weights.get(engine, 1.0) for engine in engines)
        self._memory = memory.of(self.name)

    @abstractmethod
    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        """One of `candidates` (engine indexes, at least one)."""
