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
    base_s, per_sequence_s, prompt_s_per_byte, room = loads.outlooks[index]
    finish_s = prompt_s_per_byte * (loads.waiting_bytes[index] + request.body_bytes)
    running, tokens = loads.in_flight[index], loads.expected_tokens(request.max_tokens)
    if running > room:
        return finish_s + tokens * (base_s + per_sequence_s * room) + queue_s(loads, index)
    lacking = max(0.0, tokens * running - loads.limits_in_flight[index])
    steps_s = tokens * (base_s + per_sequence_s * running)
    return finish_s + steps_s - OUTLASTING * per_sequence_s * lacking


def queue_s(loads: Loads, index: int) -> float:
    """Seconds that a request waits for its turn at an engine that has no room for it."""
    base_s, per_sequence_s, _, capacity = loads.speeds[index]
    queued = loads.in_flight[index] + loads.foreign[index] + 1 - capacity
    return queued / capacity * loads.output_tokens * (base_s + per_sequence_s * capacity)
