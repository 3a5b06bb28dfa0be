"""The seconds until an engine would have finished a request, as `expected_finish` compares them."""

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads


def predicted_finish_s(loads: Loads, index: int, request: RouteRequest) -> float:
    """Prompt, queue and decode of one more request, see `ExpectedFinish` for the formula."""
    base_s, per_sequence_s, prompt_s_per_byte, capacity = loads.speeds[index]
    mean = loads.output_tokens
    tokens = mean if request.max_tokens is None else min(request.max_tokens, mean)
    running = float(loads.in_flight[index] + loads.foreign[index] + 1)
    finish_s = (loads.waiting_bytes[index] + request.body_bytes) * prompt_s_per_byte
    if running > capacity:
        step_s = base_s + per_sequence_s * capacity
        finish_s += (running - capacity) / capacity * mean * step_s
        running = capacity
    return finish_s + tokens * (base_s + per_sequence_s * running)
