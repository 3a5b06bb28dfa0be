"""Tenants: who shares the gateway, and what the keys of each may ask for.

    enter, leave   the open requests of all its keys, over all workers
    refusal        models, LoRA adapters and engines' own words for them, of one request
    of_route       the route that it would go by

A model that a tenant may not have is for its keys as if it was not there.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from proa.domain.fleet import FleetView
from proa.engines.management import mended
from proa.gateway.settings import TenantSpec
from proa.routing.decision import Refusal, RouteMatch
from proa.telemetry.rows import Tenant, tenant_base
from proa.wire.other_names import other_names
from proa.wire.surface import ModelPlace, Surface, surface_of, triton_model

if TYPE_CHECKING:
    from proa.gateway.body import Asked
    from proa.gateway.ledger import Meter
    from proa.gateway.plane import DataPlane

_REQUESTS = Tenant.REQUESTS - Tenant.IN_FLIGHT
_IN_PATH = ModelPlace.PATH


class TenantEntry:
    """A configured tenant with its cells in the shared rows.

    `restricts` tells that some models, adapters or routes are not for it; only then do its
    requests cost more than their count. `meter` is there where its tokens are counted.
    """

    def __init__(self, spec: TenantSpec, slot: int) -> None:
        self.spec = spec
        self.meter: Meter | None = None
        self.restricts = bool(spec.models or spec.adapters or spec.routes)
        self.slot = slot
        self.base = tenant_base(slot)
        self._narrows = bool(spec.models or spec.adapters)
        self._fleet: FleetView | None = None
        self._parents: dict[str, str | None] = {}

    def enter(self, plane: "DataPlane") -> bool:
        """Take a place under the tenant's cap, over all workers; false when it is used up."""
        row, base, others = plane.row, self.base, plane.other_rows
        mine, cap = row[base], self.spec.max_concurrent_requests
        if cap and mine + (sum([row[base] for row in others]) if others else 0) >= cap:
            row[base + Tenant.REFUSED_CAP] += 1
            return False
        row[base] = mine + 1
        row[base + _REQUESTS] += 1
        return True

    def leave(self, plane: "DataPlane") -> None:
        """Give the place back."""
        plane.row[self.base] -= 1

    def sees(self, model: str, plane: "DataPlane") -> bool:
        """Whether a name is a model or an adapter that the tenant's keys may ask for."""
        spec, parents = self.spec, self._adapters(plane)
        if model in spec.adapters or not self._narrows:
            return True
        if model not in parents:
            return not spec.models or model in spec.models
        if spec.adapters:
            return False
        return model in spec.models or parents[model] in spec.models

    def refusal(
        self, asked: "Asked", body: bytes, surface: Surface, plane: "DataPlane"
    ) -> Refusal | None:
        """Why a request is not for this tenant, by what it names; None if it may be."""
        if not self._narrows:
            return None
        others = other_names(body) if body and surface.model_place is not _IN_PATH else ()
        for name in (asked.model, _in_path(asked.path), *others):
            if name is not None and not self.sees(name, plane):
                plane.row[self.base + Tenant.REFUSED_MODEL] += 1
                return _no_model(name)
        return None

    def of_route(
        self, asked: "Asked", body: bytes, match: RouteMatch | Refusal, plane: "DataPlane"
    ) -> RouteMatch | Refusal:
        """The match, or that its route is not for this tenant, or has no model for it."""
        if isinstance(match, Refusal):
            return match
        spec = self.spec
        if spec.routes and match.route not in spec.routes:
            plane.row[self.base + Tenant.REFUSED_ROUTE] += 1
            told = f"the tenant of this key may not use route `{match.route}`"
            return Refusal(403, "route_not_allowed", told)
        if self._narrows and asked.model is None:
            named = match.model if match.rewrites_model and body else None
            if named is None or not self.sees(named, plane):
                plane.row[self.base + Tenant.REFUSED_MODEL] += 1
                told = "the request names no model, and the tenant of this key may use some only"
                return Refusal(404, "model_not_found", told)
        return match

    def _adapters(self, plane: "DataPlane") -> Mapping[str, str | None]:
        """All LoRA adapters that are known, each with its model where that is told."""
        if self._fleet is not plane.fleet:
            self._fleet = plane.fleet
            self._parents = dict(adapter_parents(plane.fleet))
            self._parents |= {a.name: a.model for a in plane.settings.routing.adapters}
        return self._parents


def adapter_parents(fleet: FleetView) -> Iterable[tuple[str, str | None]]:
    """The adapters that engines tell, as such or as models with a parent."""
    for engine in fleet.engines:
        yield from ((a.name, a.parent) for a in engine.adapters or ())
        yield from ((m.id, m.parent) for m in engine.models if m.parent is not None)


def _in_path(path: str) -> str | None:
    """The model that an engine may read in the path, however it is written."""
    plain = mended(path.encode("latin-1", "replace"))
    return triton_model(plain) if surface_of(plain).model_place is _IN_PATH else None


def _no_model(name: str) -> Refusal:
    return Refusal(404, "model_not_found", f"The model `{name}` does not exist")
