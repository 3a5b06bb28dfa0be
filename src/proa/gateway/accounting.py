"""What a finished try adds to its engine's counters."""

from proa.domain.outcome import Outcome
from proa.gateway.attempt import Attempt
from proa.gateway.pace import Pace
from proa.telemetry.rows import Engine

_OK = Outcome.OK


def account(attempt: Attempt, duration_s: float, outcome: Outcome) -> None:
    """Count the time of the whole request, and the tokens that the engine reported."""
    usage, pace, exchange = attempt.usage, attempt.lease.pace, attempt.exchange
    answer = usage.completion_tokens
    if pace is not None:
        _stream(attempt, pace, exchange.started_s + duration_s, outcome)
        answer = None
    told = (int(duration_s * 1e6), usage.prompt_tokens, answer, len(exchange.body))
    attempt.link.tally.finished.append(told)


def _stream(attempt: Attempt, pace: Pace, now_s: float, outcome: Outcome) -> None:
    """The end of a stream tells how quickly it came, if it is whole."""
    attempt.link.counts[Engine.COMPLETION_TOKENS] += attempt.usage.completion_tokens or 0
    pace.window(attempt.exchange.moved, now_s, is_paused=attempt.paused)
    if outcome is _OK:
        pace.ended(attempt.usage)
