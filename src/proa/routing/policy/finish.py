"""The seconds until an engine would have finished a request, as policies compare them."""

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads


def expected_tokens(loads: Loads, request: RouteRequest) -> float:
    """The tokens of an answer: the mean of late, or the client's limit where that is lower."""
    limit, mean = request.max_tokens, loads.output_tokens
    return mean if limit is None or limit > mean else limit


def expected_finish_s(loads: Loads, index: int, request: RouteRequest) -> float:
    """Prompt, queue and decode of one more request, see `ExpectedFinish` for the formula.

    Time before the first token is weighted: compare it with others of its kind only.
    """
    base_s, per_sequence_s, prompt_s_per_byte, room = loads.outlooks[index]
    finish_s = prompt_s_per_byte * (loads.waiting_bytes[index] + request.body_bytes)
    running: float = loads.in_flight[index]
    if running > room:
        finish_s += queue_s(loads, index)
        running = room
    return finish_s + expected_tokens(loads, request) * (base_s + per_sequence_s * running)


def queue_s(loads: Loads, index: int) -> float:
    """Seconds that a request waits for its turn at an engine that has no room for it."""
    base_s, per_sequence_s, _, capacity = loads.speeds[index]
    queued = loads.in_flight[index] + loads.foreign[index] + 1 - capacity
    return queued / capacity * loads.output_tokens * (base_s + per_sequence_s * capacity)
