"""Requests that no engine needs to see: health and the list of models."""

from typing import TYPE_CHECKING

import msgspec

from proa.domain.fleet import FleetView
from proa.wire.request_head import RequestHead

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

HEALTH = frozenset((b"/healthz", b"/readyz"))
_READ = frozenset((b"GET", b"HEAD"))


def is_local(head: RequestHead) -> bool:
    """Whether `answer` may have the answer."""
    path = head.path
    return path in HEALTH or (head.method in _READ and path.startswith(b"/v1/models"))


def answer(exchange: "Exchange") -> bool:
    """Answer health and model lists; false when the request is for an engine."""
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
            exchange.reply(200, model_list(exchange.plane.fleet))
            return True
        if path.startswith(b"/v1/models/"):
            _one_model(exchange, path[len(b"/v1/models/") :].decode("utf-8", "replace"))
            return True
    return False


def model_list(fleet: FleetView) -> bytes:
    """All engines' models, each id once, with the card of the first engine that has it."""
    cards: dict[str, msgspec.Raw] = {}
    for engine in fleet.engines:
        for model in engine.models:
            cards.setdefault(model.id, model.card)
    return msgspec.json.encode({"object": "list", "data": list(cards.values())})


def _one_model(exchange: "Exchange", model_id: str) -> None:
    for engine in exchange.plane.fleet.engines:
        for model in engine.models:
            if model.id == model_id:
                exchange.reply(200, bytes(model.card))
                return
    exchange.refuse(404, f"The model `{model_id}` does not exist", "model_not_found")
