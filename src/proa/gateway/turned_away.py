"""What those are told who get no place in the queue, or lose it."""

from typing import TYPE_CHECKING

from proa.gateway.tickets import ABSENT
from proa.routing.admission.denial import Denial
from proa.routing.admission.drain import retry_after_s
from proa.routing.admission.ticket import Ticket
from proa.routing.decision import RETRY_AFTER_S
from proa.telemetry.rows import Header

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange

_UNKNOWN_S = 1
_CELLS = {
    Denial.QUEUE_FULL: Header.REFUSED_QUEUE_FULL,
    Denial.SHED: Header.REFUSED_SHED,
    Denial.SATURATED: Header.REFUSED_SATURATED,
    Denial.DEADLINE: Header.REFUSED_DEADLINE,
    Denial.EXPIRED: Header.REFUSED_EXPIRED,
}
_MESSAGES = {
    Denial.QUEUE_FULL: "As many requests wait as admission.queue_size allows",
    Denial.SHED: "The place in the queue went to another request",
    Denial.SATURATED: "No engine has room, and the request may not wait",
    Denial.DEADLINE: "The request would not start in the time that it may wait",
    Denial.EXPIRED: "The request has not started in the time that it may wait",
}


def turn_away(ticket: "Ticket[Exchange]", reason: Denial, wait_s: float | None) -> None:
    """Answer the owner of a ticket; `wait_s` is what waiting takes now, None if not known."""
    exchange = ticket.owner
    counts = exchange.plane.counts
    if ticket.need == ABSENT:
        counts[Header.REFUSED_NO_ENGINE] += 1
        message = "No engine was ready in the time that the request may wait"
        exchange.refuse(503, message, "no_engine_ready", retry_after_s=RETRY_AFTER_S)
        return
    counts[_CELLS[reason]] += 1
    in_vain = reason in (Denial.QUEUE_FULL, Denial.SHED)
    patience_s = 0.0 if in_vain else ticket.deadline_s - ticket.arrived_s
    seconds = retry_after_s(wait_s, patience_s, unknown_s=_UNKNOWN_S)
    exchange.refuse(429, _MESSAGES[reason], reason.code, retry_after_s=seconds)
