"""What a finished try adds to its engine's counters."""

from proa.gateway.attempt import Attempt
from proa.telemetry.rows import Engine, observe_duration


def account(attempt: Attempt, duration_s: float) -> None:
    """Count the time of the whole request, and the tokens that the engine reported."""
    counts, usage = attempt.link.counts, attempt.usage
    observe_duration(counts, int(duration_s * 1e6))
    if usage.prompt_tokens is not None:
        counts[Engine.PROMPT_TOKENS] += usage.prompt_tokens
    if usage.completion_tokens is not None:
        counts[Engine.COMPLETION_TOKENS] += usage.completion_tokens
