"""Requests that no engine needs to see: health, the list of models, preflights."""

from typing import TYPE_CHECKING

import msgspec

from proa.domain.fleet import FleetView

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

_HEALTH = frozenset((b"/healthz", b"/readyz"))
_READ = frozenset((b"GET", b"HEAD"))


def is_health(path: bytes) -> bool:
    """Whether a path is the gateway's own health; it needs no key."""
    return path in _HEALTH


def options(exchange: "Exchange") -> bool:
    """Answer OPTIONS: a preflight from an allowed origin, nothing else. Never goes on."""
    fields, plane = exchange.head.fields, exchange.plane
    exchange.connection.body_read = not exchange.head.chunked and exchange.head.content_length == 0
    if b"access-control-request-method" in fields and plane.cors.allows(fields.get(b"origin")):
        exchange.preflight(plane.cors.preflight_lines())
    else:
        exchange.refuse(405, "OPTIONS answers only preflights from origins in cors.allow_origins",
                        headers=b"allow: GET, HEAD, POST, PUT, PATCH, DELETE\r\n")  # fmt: skip
    return False


def answer(exchange: "Exchange") -> bool:
    """Answer health and model lists; false when the request is for an engine."""
    head = exchange.head
    path = head.path
    if path in _HEALTH:
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
