"""Which engine gets a request for a LoRA adapter, and what must be loaded and unloaded for it.

An adapter that is warm somewhere is used there. It is loaded a second time only where
that pays: the warm engines are far more loaded than another one, and what would have to
go there is used much less. What must go is the adapter with the least use, so that a
few cold adapters change places and the hot ones stay.
"""

from collections.abc import Mapping, Sequence
from math import ceil

import msgspec

from proa.domain.fleet import EngineView
from proa.routing.spec import AdapterSpec

SPREAD_RATIO = 2.0
SPREAD_SLACK = 4.0
WORTH = 16.0  # a copy goes in the place of what is used so many times less
FULL_SHARE = 0.9  # one copy serves so much of an engine's fair share of all requests
FADE_AFTER = 4096


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine must do before it can serve: `unload` first, None where nothing must go."""

    engine: str
    load: AdapterSpec
    unload: str | None = None


class AdapterBook:
    """What is loaded where, and how much each adapter is used; by names, for all routers.

    A view of the fleet is believed when it comes; between views, what was ordered is.
    `orders` are not carried out yet.
    """

    def __init__(self) -> None:
        self.loaded: dict[str, set[str]] = {}
        self.orders: list[Order] = []
        self._loadable: Mapping[str, AdapterSpec] = {}
        self._uses: dict[str, float] = {}
        self._total = 0.0
        self._count = 0

    def know(self, engines: Sequence[EngineView], loadable: Mapping[str, AdapterSpec]) -> None:
        """A new view: engines that tell their adapters have these and no others."""
        self._loadable = loadable
        for engine in engines:
            if engine.adapters is not None:
                self.loaded[engine.name] = {adapter.name for adapter in engine.adapters}

    def is_warm(self, engine: str, adapter: str) -> bool:
        return adapter in self.loaded.get(engine, ())

    def missing(self, engine: str, adapter: str) -> None:
        """The engine does not have the adapter after all."""
        self.loaded.get(engine, set()).discard(adapter)

    def place(self, adapter: str, queues: Mapping[str, float], most: int) -> str:
        """The engine for one request; what it must load first is added to `orders`.

        `queues` are the candidates with their work, in requests of an engine of typical
        speed; an engine holds `most` adapters at a time.
        """
        self._note(adapter)
        shortest = min(queues, key=queues.__getitem__)
        warm = [engine for engine in queues if self.is_warm(engine, adapter)]
        spec = self._loadable.get(adapter)
        if warm:
            best = min(warm, key=queues.__getitem__)
            if spec is None or not self._pays(adapter, queues, best, shortest, most):
                return best
            self._order(shortest, spec, most)
            return shortest
        if spec is None:
            return shortest
        chosen = min(queues, key=lambda engine: (self._loss(engine, most), queues[engine]))
        self._order(chosen, spec, most)
        return chosen

    def _note(self, adapter: str) -> None:
        self._uses[adapter] = self._uses.get(adapter, 0.0) + 1.0
        self._total += 1.0
        self._count += 1
        if self._count >= FADE_AFTER:
            self._count = 0
            self._uses = {name: uses / 2.0 for name, uses in self._uses.items() if uses > 0.5}
            self._total = sum(self._uses.values())

    def _pays(
        self, adapter: str, queues: Mapping[str, float], warm: str, other: str, most: int
    ) -> bool:
        """Whether a copy on the `other` engine is worth what must go there."""
        if queues[warm] <= SPREAD_RATIO * queues[other] + SPREAD_SLACK:
            return False
        flooded = queues[warm] > 2.0 * (SPREAD_RATIO * queues[other] + SPREAD_SLACK)
        loss = self._loss(other, most) * (1.0 if flooded else WORTH)
        return loss < self._uses.get(adapter, 0.0)

    def _victim(self, engine: str, most: int) -> str | None:
        """The least used of the adapters that can be loaded again, if one must go."""
        held = self.loaded.get(engine, set())
        if len(held) < most:
            return None
        return min(held & self._loadable.keys(), key=self._use, default=None)

    def _loss(self, engine: str, most: int) -> float:
        """The use of what would have to go, its copies elsewhere taken off; 0 for a free place."""
        victim = self._victim(engine, most)
        if victim is None:
            is_full = len(self.loaded.get(engine, ())) >= most
            return float("inf") if is_full else 0.0
        return self._use(victim)[0]

    def _use(self, adapter: str) -> tuple[float, str]:
        """What is lost with one copy: nothing while enough others are left."""
        uses = self._uses.get(adapter, 0.0)
        copies = sum(adapter in held for held in self.loaded.values())
        needed = uses * len(self.loaded) / (FULL_SHARE * self._total)
        return (0.0 if copies > max(1, ceil(needed)) else uses), adapter

    def _order(self, engine: str, spec: AdapterSpec, most: int) -> None:
        victim = self._victim(engine, most)
        held = self.loaded.setdefault(engine, set())
        if victim is not None:
            held.discard(victim)
        held.add(spec.name)
        self.orders.append(Order(engine=engine, load=spec, unload=victim))
