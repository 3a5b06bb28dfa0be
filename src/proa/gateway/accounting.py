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
    prompt, completion, pace = usage.prompt_tokens, usage.completion_tokens, attempt.lease.pace
    if prompt is not None:
        counts[_PROMPT_TOKENS] += prompt
        counts[_PROMPT_BYTES] += len(attempt.exchange.body)
    if completion is not None:
        counts[_COMPLETION_TOKENS] += completion
        if pace is None:
            counts[_ANSWERS] += 1
            counts[_ANSWER_TOKENS] += completion
    if pace is not None:
        exchange = attempt.exchange
        pace.window(exchange.moved, exchange.started_s + duration_s, is_paused=attempt.paused)
        if outcome is _OK:
            pace.ended(usage)
