"""An exchange as a line of the request log."""

from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.domain.request_record import RequestRecord

_DECISION = b"x-proa-decision: "

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange


def request_record(
    exchange: "Exchange", outcome: Outcome, status: int, duration_s: float
) -> RequestRecord:
    """What is told of a finished exchange: no prompt, no header, no query."""
    asked, attempt, head = exchange.asked, exchange.attempt, exchange.head
    hedges = exchange.plane.hedges
    hedged = None if hedges is None else hedges.engine_of(exchange)
    return RequestRecord(
        request_id=exchange.request_id.decode(),
        method=head.method.decode(),
        path=head.path.decode("latin-1"),
        status=status,
        outcome=outcome.label,
        duration_ms=duration_s * 1e3,
        key=exchange.key_name or None,
        tenant=exchange.tenant_name,
        model=asked.model if asked else None,
        route=exchange.route or None,
        engine=attempt.link.name if attempt else None,
        decision=_decision(exchange.decision),
        queued_ms=exchange.queued_s * 1e3 if exchange.queued_s else None,
        ttft_ms=None if exchange.ttft_s is None else exchange.ttft_s * 1e3,
        bytes_in=len(exchange.body),
        bytes_out=exchange.sent_bytes,
        prompt_tokens=attempt.usage.prompt_tokens if attempt else None,
        completion_tokens=attempt.usage.completion_tokens if attempt else None,
        retries=exchange.retries if hedged is None else max(0, exchange.retries - 1),
        hedged=hedged,
        stream=bool(asked and asked.stream),
        pii=dict(exchange.found) if exchange.found else None,
    )


def _decision(lines: bytes) -> str | None:
    """The value of `x-proa-decision` among the header lines that tell of the engine."""
    start = lines.find(_DECISION)
    if start < 0:
        return None
    return lines[start + len(_DECISION) : lines.index(b"\r\n", start)].decode("ascii", "replace")


def refused_record(request_id: bytes, status: int) -> RequestRecord:
    """What never became a request: neither method nor path is known for sure."""
    return RequestRecord(
        request_id=request_id.decode(),
        method="-",
        path="-",
        status=status,
        outcome=Outcome.CLIENT_FAULT.label,
        duration_ms=0.0,
    )
