"""Builders of small fleets for routing tests."""

from collections.abc import Sequence

import msgspec

from proa.domain.fleet import EngineKind, EngineState, EngineView, FleetView, ModelView
from proa.routing.loads import Loads

CARD = msgspec.Raw(b"{}")


def engine(
    name: str,
    *models: str,
    state: EngineState = EngineState.READY,
    kind: EngineKind = EngineKind.VLLM,
    known: bool = True,
) -> EngineView:
    """An engine that lists `models`."""
    views = tuple(ModelView(model, CARD) for model in models)
    return EngineView(name=name, kind=kind, state=state, models=views, models_known=known)


def fleet(*engines: EngineView) -> FleetView:
    """A view of these engines."""
    return FleetView(1, engines)


def loads(in_flight: Sequence[int], shares: Sequence[float] | None = None) -> Loads:
    """Engines with so many requests in flight, of which nothing else is known."""
    made = Loads(len(in_flight))
    made.in_flight = in_flight
    made.shares = list(shares or made.shares)
    return made
