"""The seconds until an engine would have finished a request, as policies compare them."""

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads

OUTLASTING = 0.4
"""How much of it counts that running streams end before a longer answer; 0 if others took
their places at once, as in a closed loop, 1 if none did."""


def expected_finish_s(loads: Loads, index: int, request: RouteRequest) -> float:
    """Prompt, queue and decode of one more request, see `ExpectedFinish` for the formula.

    Time before the first token is weighted: compare it with others of its kind only.
    """
    ahead_and_own = loads.waiting_bytes[index] + request.body_bytes
    tokens = loads.expected_tokens(request.max_tokens)
    return loads.outlooks[index].prompt_s_per_byte * ahead_and_own + decode_s(loads, index, tokens)


def decode_s(loads: Loads, index: int, tokens: float, outlasting: float = OUTLASTING) -> float:
    """Seconds for so many tokens of one more answer, after the queue where the engine is full."""
    base_s, per_sequence_s, _, room = loads.outlooks[index]
    running = loads.in_flight[index]
    if running > room:
        return tokens * (base_s + per_sequence_s * room) + queue_s(loads, index)
    lacking = max(0.0, tokens * running - loads.limits_in_flight[index])
    steps_s = tokens * (base_s + per_sequence_s * running)
    return steps_s - outlasting * per_sequence_s * lacking


def queue_s(loads: Loads, index: int) -> float:
    """Seconds that a request waits for its turn at an engine that has no room for it."""
    base_s, per_sequence_s, _, capacity = loads.speeds[index]
    queued = loads.in_flight[index] + loads.foreign[index] + 1 - capacity
    return queued / capacity * loads.output_tokens * (base_s + per_sequence_s * capacity)
