"""An exchange as somebody who waits: its class, its patience, what it needs."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

from proa.gateway.doorkeeper import Verdict
from proa.routing.admission.priority import WaitingTerms, allowed_priority, not_above
from proa.routing.admission.ticket import Ticket
from proa.routing.decision import Refusal

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

ABSENT = "an engine"
"""The need of those for whom no engine is ready."""


def patience_s(exchange: "Exchange", terms: WaitingTerms) -> float | None:
    """How long somebody has said that the request may wait; None if nobody has."""
    said = (terms.max_wait_s, _wish(exchange).max_wait_s)
    return min((each for each in said if each is not None), default=None)


def may_wait(exchange: "Exchange", refusal: Refusal) -> bool:
    """Whether a refused request may wait for a place, or as somebody said for an engine."""
    terms = refusal.waiting
    if terms is None:
        return False
    return exchange.match is not None or patience_s(exchange, terms) is not None


def new_ticket(
    exchange: "Exchange", terms: WaitingTerms, *, not_before_s: float = 0.0
) -> "Ticket[Exchange]":
    """The exchange's ticket, as old as its request; not longer than the whole may take."""
    wish, spec = _wish(exchange), exchange.key_spec
    highest = None if spec is None else spec.priority
    priority = allowed_priority(terms.priority, wish.priority, highest)
    tenant = None if exchange.key is None else exchange.key.tenant
    if tenant is not None and tenant.spec.priority is not None:
        priority = not_above(priority, tenant.spec.priority)
    patience, limit_s = patience_s(exchange, terms), exchange.limits.total_timeout_s
    return Ticket(
        owner=exchange,
        rank=priority.rank,
        arrived_s=exchange.started_s,
        deadline_s=exchange.started_s + (limit_s if patience is None else min(patience, limit_s)),
        tenant=exchange.tenant_name,
        key=exchange.key_name,
        need=need_of(exchange),
        not_before_s=not_before_s,
        queued_at_s=exchange.plane.clock(),
    )


def need_of(exchange: "Exchange") -> Hashable:
    """The same for all that can start on the same engines."""
    match, dispatcher = exchange.match, exchange.dispatcher
    if match is None:
        return ABSENT
    if dispatcher is exchange.plane.dispatcher and not exchange.tried:
        return match.pool
    return match.pool, exchange.tried, id(dispatcher)


def _wish(exchange: "Exchange") -> Verdict:
    """What the request's head asks for."""
    head, doorkeeper = exchange.head, exchange.plane.doorkeeper
    verdict: Verdict | None = head.derived.get(doorkeeper)
    return doorkeeper.judge(head) if verdict is None else verdict


def with_wait(decision: bytes, queued_s: float) -> bytes:
    """The header lines of a choice, which end with the reason, and how long it was waited for."""
    return b"%b queued_ms=%d\r\n" % (decision.removesuffix(b"\r\n"), queued_s * 1e3)
