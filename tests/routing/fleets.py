"""Builders of small fleets for routing tests."""

import msgspec

from proa.domain.fleet import EngineKind, EngineState, EngineView, FleetView, ModelView

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
