"""Requests that no engine needs to see: health, the list of models, what a tenant may not ask."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from proa.domain.fleet import FleetView
from proa.gateway.body import ask
from proa.gateway.keys import KeyEntry
from proa.wire.request_head import RequestHead

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

HEALTH = frozenset((b"/healthz", b"/readyz"))
_READ = frozenset((b"GET", b"HEAD"))


def is_local(head: RequestHead, key: KeyEntry | None) -> bool:
    """Whether `answer` may have the answer."""
    path = head.path
    if key is not None and key.gate is not None:
        return True
    return path in HEALTH or (head.method in _READ and path.startswith(b"/v1/models"))


def answer(exchange: "Exchange") -> bool:
    """Answer it, or refuse it; false when the request is for an engine."""
    head = exchange.head
    path = head.path
    if path in HEALTH:
        if path == b"/healthz" or exchange.plane.ready:
            exchange.reply(200, b'{"status":"ok"}')
        else:
            exchange.refuse(503, exchange.plane.not_ready_reason)
        return True
    if head.method in _READ and path.startswith(b"/v1/models"):
        if path == b"/v1/models":
            exchange.reply(200, model_list(exchange.plane.fleet, _sees(exchange)))
            return True
        if path.startswith(b"/v1/models/"):
            _one_model(exchange, path[len(b"/v1/models/") :].decode("utf-8", "replace"))
            return True
    return _is_not_for(exchange)


def _is_not_for(exchange: "Exchange") -> bool:
    """Refuse what the tenant may not ask for."""
    gate = None if exchange.key is None else exchange.key.gate
    if gate is None:
        return False
    body, surface = exchange.body, exchange.surface
    refusal = gate.refusal(ask(exchange.head, body, surface), body, surface, exchange.plane)
    if refusal is not None:
        exchange.refuse(refusal.status, refusal.message, refusal.code)
    return refusal is not None


def model_list(fleet: FleetView, sees: Callable[[str], bool]) -> bytes:
    """All engines' models that `sees` takes, each once, by the first engine's card."""
    cards: dict[str, msgspec.Raw] = {}
    for engine in fleet.engines:
        for model in engine.models:
            if model.id not in cards and sees(model.id):
                cards[model.id] = model.card
    return msgspec.json.encode({"object": "list", "data": list(cards.values())})


def _one_model(exchange: "Exchange", model_id: str) -> None:
    for engine in exchange.plane.fleet.engines:
        for model in engine.models:
            if model.id == model_id and _sees(exchange)(model_id):
                exchange.reply(200, bytes(model.card))
                return
    exchange.refuse(404, f"The model `{model_id}` does not exist", "model_not_found")


def _sees(exchange: "Exchange") -> Callable[[str], bool]:
    """What is there for whoever asks."""
    key, plane = exchange.key, exchange.plane
    gate = None if key is None else key.gate
    return (lambda model: True) if gate is None else (lambda model: gate.sees(model, plane))
