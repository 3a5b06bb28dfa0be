"""What routing is told of a request: only what the routes of its path and the policy ask for."""

from typing import TYPE_CHECKING

from proa.domain.request import RouteRequest
from proa.routing.needs import CLASS_HEADER, Needs
from proa.routing.prefix import prefix_hashes
from proa.routing.router import Router
from proa.wire.fields import prompt_values
from proa.wire.last_message import last_user_text, user_of

if TYPE_CHECKING:
    from proa.gateway.body import Asked
    from proa.gateway.exchange import Exchange


def route_request(exchange: "Exchange", asked: "Asked", needs: Needs) -> RouteRequest:
    """The request with all that is asked for."""
    router, body = exchange.dispatcher.router, exchange.body
    names = needs.headers
    if needs.session:
        names |= {router.session_header}
    headers = asked.headers(exchange.head, names) if names else {}
    tokens = exchange.plane.tokens
    return RouteRequest(
        path=asked.path,
        model=asked.model,
        input_tokens=tokens.estimate(asked, body) if needs.input_tokens else None,
        body_bytes=len(body),
        max_tokens=asked.max_tokens,
        headers=headers,
        request_class=_class(router, headers, body, needs) if needs.request_class else None,
        tenant=exchange.tenant_name if needs.tenant else "",
        pii=exchange.has_pii if needs.pii else False,
        session=(headers.get(router.session_header) or user_of(body)) if needs.session else "",
        prefix=_prefix(body) if needs.prefix else (),
    )


def _class(router: Router, headers: dict[str, str], body: bytes, needs: Needs) -> str | None:
    """What the client declares, else what the classifier makes of the user's last message."""
    declared = headers.get(CLASS_HEADER)
    if declared is not None or not needs.classified or not body:
        return declared
    text = last_user_text(body)
    return None if text is None else router.classified(text)


def _prefix(body: bytes) -> tuple[int, ...]:
    values = prompt_values(body)
    return prefix_hashes(memoryview(max(values, key=lambda raw: len(bytes(raw))))) if values else ()
