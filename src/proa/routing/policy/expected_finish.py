"""To where the answer is expected to be finished first."""

from collections.abc import Sequence
from math import inf
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy
from proa.routing.policy.finish import OUTLASTING, queue_s
from proa.routing.policy.first_token import sooner
from proa.routing.spec import PolicyName

EXPLORED_SHARE = 0.02
EXPLORED_WITHIN = 2.0


class ExpectedFinish(Policy):
    """The least of prompt + queue + decode, as far as the engines' speeds are known.

    finish_s = 8 x (bytes of prompts ahead and of the own one) x prompt_s_per_byte
             + queued / capacity x mean output tokens x step_s(capacity)
             + expected output tokens x step_s(running, this request included)

    A long answer outlasts streams that have lower limits: where these can't have as many
    tokens as so many answers like it, 40 % of the difference is taken off the time of its
    steps. Long answers so prefer the engine with the lower base, short ones fill the other.

    Time before the first token counts eight times: it stands for the other prompts and the
    running streams that wait meanwhile, too.

    Each prediction is as if up to one sequence more were running, at random, so that
    gateways that know the same don't all run to the same engine. What a request does to
    the streams that run already is in the step with one sequence more: engines are filled
    so that their steps take equally long, and that is where most streams reach a given speed.

    A request that would wait behind other prompts there may get its first token sooner
    elsewhere, see `sooner`.

    An engine of which nothing is known counts as typical of the others; when nothing is
    known of any, fewest requests win, unless others have fewer that wait. Up to 2 % of
    the requests, those that are expected to be short, go to an engine whose speed was not
    seen lately, if it is predicted to take twice as long as the best at most.
    """

    name = PolicyName.EXPECTED_FINISH

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        outlooks, in_flight, waiting = loads.outlooks, loads.in_flight, loads.waiting_bytes
        limits, tokens = loads.limits_in_flight, loads.expected_tokens(request.max_tokens)
        size, chance = request.body_bytes, rng.random
        best, least = -1, 0.0
        for index in candidates:  # `expected_finish_s`, spelt out
            base_s, per_sequence_s, prompt_s_per_byte, room = outlooks[index]
            running = in_flight[index]
            if running <= room:
                finish_s = tokens * (base_s + per_sequence_s * (running + chance()))
                lacking = tokens * running - limits[index]
                if lacking > 0.0:
                    finish_s -= OUTLASTING * per_sequence_s * lacking
            else:
                finish_s = tokens * (base_s + per_sequence_s * room) + queue_s(loads, index)
            finish_s += prompt_s_per_byte * (waiting[index] + size)
            if best < 0 or finish_s < least:
                best, least = index, finish_s
        if waiting[best] or loads.unseen:
            if loads.unseen and tokens <= loads.output_tokens and chance() < EXPLORED_SHARE:
                return self._explore(candidates, loads, best)
            if waiting[best]:
                return sooner(candidates, loads, request, best)
        return best

    def _explore(self, candidates: Sequence[int], loads: Loads, best: int) -> int:
        """An engine not seen lately whose next step is at most twice that of the best."""

        def next_step_s(index: int) -> float:
            base_s, per_sequence_s, _, room = loads.outlooks[index]
            running = loads.in_flight[index]
            return inf if running > room else base_s + per_sequence_s * running

        limit_s = EXPLORED_WITHIN * next_step_s(best)
        for index in candidates:
            if index in loads.unseen and next_step_s(index) <= limit_s:
                return index
        return best
