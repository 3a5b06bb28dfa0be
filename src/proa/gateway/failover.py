"""What becomes of a request whose try failed: another engine, a real status, an error event."""

from typing import TYPE_CHECKING

from proa.domain.outcome import Outcome
from proa.gateway.answers import engine_error_body, error_event
from proa.gateway.client_side import JSON
from proa.telemetry.rows import Engine
from proa.wire.response_parser import ResponseParser

if TYPE_CHECKING:
    from proa.gateway.attempt import Attempt
    from proa.gateway.exchange import Exchange

_RETRY_ANYWAY = frozenset((Outcome.NOT_READY, Outcome.BUSY, Outcome.BROKEN))
_DIGITS_MAX = 9


def no_answer(attempt: "Attempt", outcome: Outcome, status: int, message: str) -> None:
    """A try ended without an answer, before anything went to the client."""
    exchange = attempt.exchange
    if _other_goes_on(attempt):
        return
    if _may_retry(attempt, outcome, None):
        exchange.dispatch()
        return
    if exchange.retried and attempt.body_sent:
        message = f"two engines failed on this request; the last: {message}"
        status = 502
    exchange.refuse(status, message, outcome=outcome)


def engine_error(
    attempt: "Attempt", outcome: Outcome, status: int, body: bytes, parser: ResponseParser | None
) -> None:
    """An engine answered with an error, of which nothing has gone to the client yet.

    `parser` has read its head; None where the error was the first event of a stream.
    """
    exchange = attempt.exchange
    if exchange.committed:
        text = body.decode("utf-8", "replace")
        stream_broke(attempt, outcome, status if status >= 400 else 502, text)
        return
    if _other_goes_on(attempt):
        return
    if _may_retry(attempt, outcome, status):
        exchange.dispatch()
        return
    retry_after = parser.fields.get(b"retry-after") if parser is not None else None
    if _pauses(exchange, outcome, retry_after):
        return
    body = exchange.shown(body)
    if exchange.retried and outcome is Outcome.BROKEN:
        status = 502  # two engines broke on this body
    lines = list(parser.lines) if parser is not None else []
    if retry_after or status in (429, 503):
        lines.append(b"retry-after: " + (retry_after or b"1") + b"\r\n")
    body = engine_error_body(exchange.surface.api, status, body)
    exchange.answer.whole(status, exchange.start_lines(status, lines, JSON), body)
    exchange.finish(outcome, status)


def stream_failed(attempt: "Attempt", outcome: Outcome) -> None:
    """The engine itself said in band that the stream broke; its event has gone out."""
    exchange = attempt.exchange
    attempt.link.counts[Engine.BROKEN_STREAMS] += 1
    exchange.answer.cut()
    exchange.finish(outcome, exchange.answer.status)


def stream_broke(attempt: "Attempt", outcome: Outcome, status: int, message: str) -> None:
    """The answer broke after its status was sent: an error event where one has room."""
    exchange, relay = attempt.exchange, attempt.relay
    attempt.link.counts[Engine.BROKEN_STREAMS] += 1
    answer = exchange.answer
    if relay is not None or answer.is_events:
        ndjson = relay is not None and relay.ndjson
        message = exchange.shown(message.encode()).decode()
        event = error_event(exchange.surface.api, status, message, ndjson=ndjson)
        answer.body(event, last=False)
    answer.cut()
    exchange.finish(outcome, answer.status)


def _other_goes_on(attempt: "Attempt") -> bool:
    """Whether the request was hedged and its other try is still under way."""
    hedges = attempt.exchange.plane.hedges
    return hedges is not None and hedges.goes_on(attempt)


def _may_retry(attempt: "Attempt", outcome: Outcome, status: int | None) -> bool:
    """At most one further engine after the body was sent, as the retry budget allows.

    `status` is None where the engine gave none: `fallback_on` rules its answers only.
    """
    exchange = attempt.exchange
    match = exchange.match
    assert match is not None
    if len(exchange.tried) >= len(match.pool) and match.fallback is None:
        return False
    if match.fallback_on is not None and status is not None:
        wanted = status in match.fallback_on
    else:
        wanted = outcome in _RETRY_ANYWAY
    if wanted and attempt.body_sent:
        wanted = not exchange.retried and exchange.plane.retry_budget.withdraw()
        exchange.retried = exchange.retried or wanted
    attempt.link.counts[Engine.RETRIES] += wanted
    return wanted


def _pauses(exchange: "Exchange", outcome: Outcome, retry_after: bytes | None) -> bool:
    """Whether the engine's own Retry-After is waited for, once, as no other may take over."""
    match = exchange.match
    if outcome is not Outcome.BUSY or exchange.retried or match is None:
        return False
    if retry_after is None or not retry_after.isdigit() or len(retry_after) > _DIGITS_MAX:
        return False
    if not exchange.plane.room.pauses(exchange, match, int(retry_after)):
        return False
    exchange.retried, exchange.tried, exchange.attempt = True, (), None
    return True
