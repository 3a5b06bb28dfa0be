"""How long one request takes when the speed depends on how many run: Little's law, solved."""

from collections.abc import Callable

import msgspec

from proa.errors import FieldError

_MOST_SESSIONS = 1e9
_STEPS = 500
_HALVINGS = 60
_TOLERANCE = 1e-12

Speed = Callable[[float], float]
"""Output tokens per second of one user while so many sessions run; it does not rise with them."""


class RequestTimeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A request waits `ttft_s` and then writes `output_tokens`; they come `requests_per_s`."""

    requests_per_s: float
    ttft_s: float
    output_tokens: float


class RequestTimePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where the load and the speed agree: `mean_sessions` = rate x `seconds_per_request`."""

    seconds_per_request: float
    mean_sessions: float
    tokens_per_s: float


def solve_request_time(spec: RequestTimeSpec, speed: Speed) -> RequestTimePlan:
    """The fewest sessions L with L = rate x (TTFT + output tokens / speed(L)).

    From L = 0 upwards the right side stays above L until the first point where they meet; each
    step takes it, and looks ahead for a sign change to halve.

    Raises:
        FieldError: they never meet: requests come faster than they can be answered.
    """

    def needed(sessions: float) -> float:
        per_user = speed(sessions)
        if not per_user > 0:
            return float("inf")
        return spec.requests_per_s * (spec.ttft_s + spec.output_tokens / per_user)

    low = 0.0
    for _ in range(_STEPS):
        following = needed(low)
        if following > _MOST_SESSIONS:
            break
        if following - low <= _TOLERANCE * following:
            return _plan(spec, following, speed)
        low = following
        if needed(2 * low) <= 2 * low:
            return _plan(spec, _halved(needed, low, 2 * low), speed)
    accepted = "fewer requests than the speed can answer: at this rate sessions pile up without end"
    raise FieldError("requests_per_s", spec.requests_per_s, accepted)


def _halved(needed: Callable[[float], float], low: float, high: float) -> float:
    """Where `needed` crosses its argument, between a point below and one above it."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if needed(middle) > middle:
            low = middle
        else:
            high = middle
    return high


def _plan(spec: RequestTimeSpec, sessions: float, speed: Speed) -> RequestTimePlan:
    per_user = speed(sessions)
    return RequestTimePlan(
        seconds_per_request=spec.ttft_s + spec.output_tokens / per_user,
        mean_sessions=sessions,
        tokens_per_s=per_user,
    )
