"""What time does to an exchange: deadlines that move with the engine, heartbeats, moves."""

from typing import TYPE_CHECKING

from proa.telemetry.rows import Engine
from proa.wire.surface import Api

if TYPE_CHECKING:
    from proa.gateway.attempt import Attempt
    from proa.gateway.exchange import Exchange

_EVENTS = b"text/event-stream"
_BEAT = b": waiting for the engine\n\n"


def sweep(exchange: "Exchange", now: float) -> None:
    """Every 250 ms: extend the deadline of what moved, end what did not."""
    attempt = exchange.attempt
    if attempt is not None:
        _follow(exchange, attempt, now)
    if attempt is not None and _is_late(exchange, now):
        attempt.timed_out()
    elif attempt is not None and attempt.link.is_unreachable and _can_move(exchange, attempt):
        attempt.given_up()
    elif exchange.settings.heartbeat_s and exchange.ttft_s is None:
        _beat(exchange, now)
    hedges = exchange.plane.hedges
    if hedges is not None and not exchange.is_over:
        hedges.sweep(exchange, now)


def _follow(exchange: "Exchange", attempt: "Attempt", now: float) -> None:
    """Take in what moved since the last sweep."""
    if attempt.lease.pace is not None:
        attempt.lease.pace.window(exchange.moved, now, is_paused=attempt.paused)
    stall_timeout_s = exchange.limits.stall_timeout_s
    if exchange.moved:
        exchange.moved = 0
        attempt.link.moved_at = now
        attempt.link.counts[Engine.RECEIVED] += 1
        if exchange.committed:  # whatever the answer is, it is under way
            exchange.expect_within(stall_timeout_s)
    elif attempt.paused:  # the client is slow, not the engine
        exchange.expect_within(stall_timeout_s)


def _is_late(exchange: "Exchange", now: float) -> bool:
    age_s = now - exchange.started_s
    return now >= exchange.connection.deadline or age_s >= exchange.limits.total_timeout_s


def _can_move(exchange: "Exchange", attempt: "Attempt") -> bool:
    """Whether another engine may still take what waits for this one's first byte."""
    match = exchange.match
    untried = match is not None and (
        len(exchange.tried) < len(match.pool) or match.fallback is not None
    )
    return untried and not (attempt.answered or exchange.committed or exchange.retried)


def _beat(exchange: "Exchange", now: float) -> None:
    """A comment every `heartbeat_s` while a stream is silent; it commits the status."""
    asked, is_served = exchange.asked, exchange.attempt or exchange.ticket
    if asked is None or not asked.stream or not is_served or exchange.surface.api is Api.OLLAMA:
        return
    if exchange.committed and not exchange.answer.is_events:
        return
    every_s = exchange.settings.heartbeat_s
    due_s = exchange.next_beat_s or every_s
    if now - exchange.started_s < due_s:
        return
    exchange.next_beat_s = due_s + every_s
    if not exchange.committed:
        exchange.answer.begin(200, exchange.start_lines(200, [], _EVENTS), _EVENTS, None)
        exchange.committed = True
    exchange.answer.body(_BEAT, last=False)
