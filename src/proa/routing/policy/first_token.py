"""Where the first token comes sooner than at the engine that is expected to finish first."""

from collections.abc import Sequence

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.finish import decode_s
from proa.routing.speeds import PROMPT_WEIGHT

LONG = 1.25
"""A long answer has so many times the tokens of the mean one."""
WAIT_WEIGHT = 32.0
"""What a second of prompts ahead counts; it may be large, for the finish is bounded."""
_UNLIKE = 1.25
_SHORTER = 0.9


def sooner(candidates: Sequence[int], loads: Loads, request: RouteRequest, best: int) -> int:
    """Another engine for a request that would wait at `best` behind other prompts, or `best`.

    It goes elsewhere for its first token only as long as that makes nothing later than it is
    anyway: where it ends no later than a long answer would at `best`, were that sent now.
    Short answers so fill the slow engines in a rush; long ones stay, and those without a
    limit, of which nobody knows whether they are short. The wait must be
    shorter by a tenth, and the engine another one by its base: among equals, and for a
    prompt more or less, the expected finish is balance enough.

    While no engine's speed is known, the fewest bytes that wait for an answer win: an engine
    that answers is better than one that does not yet.
    """
    if not loads.knows_speeds:
        waiting, in_flight = loads.waiting_bytes, loads.in_flight
        return min(candidates, key=lambda index: (waiting[index], in_flight[index]))
    if request.max_tokens is None:
        return best
    tokens = loads.expected_tokens(request.max_tokens)
    finish_s, wait_s = _outlook(loads, best, tokens, request.body_bytes)
    latest_s = finish_s - decode_s(loads, best, tokens)
    latest_s += decode_s(loads, best, max(tokens, LONG * loads.output_tokens), 1.0)
    base_s, most_wait_s = loads.outlooks[best].base_s, _SHORTER * wait_s
    chosen, least = best, finish_s + WAIT_WEIGHT * wait_s
    for index in candidates:
        if base_s < _UNLIKE * loads.outlooks[index].base_s < _UNLIKE * _UNLIKE * base_s:
            continue
        finish_s, wait_s = _outlook(loads, index, tokens, request.body_bytes)
        cost = finish_s + WAIT_WEIGHT * wait_s
        if finish_s <= latest_s and wait_s < most_wait_s and cost < least:
            chosen, least = index, cost
    return chosen


def _outlook(loads: Loads, index: int, tokens: float, body_bytes: int) -> tuple[float, float]:
    """Seconds to the end of the answer, and those of them behind other prompts."""
    s_per_byte = loads.outlooks[index].prompt_s_per_byte / PROMPT_WEIGHT
    wait_s = s_per_byte * loads.waiting_bytes[index]
    return wait_s + s_per_byte * body_bytes + decode_s(loads, index, tokens), wait_s
