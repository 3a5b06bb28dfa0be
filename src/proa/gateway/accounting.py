"""What a finished try adds to its engine's counters."""

from proa.domain.outcome import Outcome
from proa.gateway.attempt import Attempt
from proa.telemetry.rows import Engine, observe_duration

_PROMPT_TOKENS, _COMPLETION_TOKENS = Engine.PROMPT_TOKENS, Engine.COMPLETION_TOKENS
_PROMPT_BYTES = Engine.PROMPT_BYTES
_ANSWERS, _ANSWER_TOKENS = Engine.ANSWERS, Engine.ANSWER_TOKENS
_OK = Outcome.OK


def account(attempt: Attempt, duration_s: float, outcome: Outcome) -> None:
    """Count the time of the whole request, and the tokens that the engine reported."""
    counts, usage = attempt.link.counts, attempt.usage
    observe_duration(counts, int(duration_s * 1e6))
    counts[_PROMPT_TOKENS] += usage.prompt_tokens or 0
    counts[_COMPLETION_TOKENS] += usage.completion_tokens or 0
    exchange, pace = attempt.exchange, attempt.lease.pace
    if usage.prompt_tokens is not None:
        counts[_PROMPT_BYTES] += len(exchange.body)
    if pace is not None:
        pace.window(exchange.moved, exchange.started_s + duration_s, is_paused=attempt.paused)
        if outcome is _OK:
            pace.ended(usage)
    elif usage.completion_tokens is not None:
        counts[_ANSWERS] += 1
        counts[_ANSWER_TOKENS] += usage.completion_tokens
