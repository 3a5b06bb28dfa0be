"""What a finished try adds to its engine's counters."""

from proa.gateway.attempt import Attempt
from proa.telemetry.rows import Engine, observe_duration

_PROMPT_TOKENS, _COMPLETION_TOKENS = Engine.PROMPT_TOKENS, Engine.COMPLETION_TOKENS


def account(attempt: Attempt, duration_s: float) -> None:
    """Count the time of the whole request, and the tokens that the engine reported."""
    counts, usage = attempt.link.counts, attempt.usage
    observe_duration(counts, int(duration_s * 1e6))
    counts[_PROMPT_TOKENS] += usage.prompt_tokens or 0
    counts[_COMPLETION_TOKENS] += usage.completion_tokens or 0
