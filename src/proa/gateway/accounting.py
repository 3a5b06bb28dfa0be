"""What a finished try adds to its engine's counters."""

from proa.domain.outcome import Outcome
from proa.gateway.attempt import Attempt
from proa.gateway.pace import Pace

_OK = Outcome.OK


def account(attempt: Attempt, duration_s: float, outcome: Outcome) -> None:
    """Count the time of the whole request, and the tokens that the engine reported."""
    usage, pace, exchange = attempt.usage, attempt.lease.pace, attempt.exchange
    whole = told = usage.completion_tokens
    if pace is not None:
        whole = _stream(attempt, pace, exchange.started_s + duration_s, outcome)
    size, limit, us = len(exchange.body), attempt.lease.limit, int(duration_s * 1e6)
    attempt.link.tally.finished.append((us, usage.prompt_tokens, told, size, whole, limit))


def _stream(attempt: Attempt, pace: Pace, now_s: float, outcome: Outcome) -> int | None:
    """The end of a stream tells how quickly it came, and how long it was if it is whole."""
    pace.window(attempt.exchange.moved, now_s, is_paused=attempt.paused)
    return pace.ended(attempt.usage) if outcome is _OK else None
