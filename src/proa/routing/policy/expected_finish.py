"""To where the answer is expected to be finished first."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy
from proa.routing.spec import PolicyName

NEAR = 0.02
EXPLORED_SHARE = 0.02
EXPLORED_WITHIN = 2.0
PROMPT_WEIGHT = 4.0


class ExpectedFinish(Policy):
    """The least of prompt + queue + decode, as far as the engines' speeds are known.

    finish_s = 4 x (bytes of prompts ahead and of the own one) x prompt_s_per_byte
             + queued / capacity x mean output tokens x step_s(capacity)
             + expected output tokens x step_s(running, this request included)

    Time before the first token counts four times: it stands for the other prompts and the
    running streams that wait meanwhile, too.

    Each prediction is drawn out by up to 2 % at random, so that gateways that know the
    same don't all run to the same engine. What a request does to the streams that run
    already is in the step with one sequence more: engines are filled so that their
    steps take equally long, and that is where most streams reach a given speed.

    An engine of which nothing is known counts as typical of the others; when nothing is
    known of any, fewest requests win. Up to 2 % of the requests, those that are expected
    to be short, go to an engine whose speed was not seen lately, if it is predicted to
    take twice as long as the best at most.
    """

    name = PolicyName.EXPECTED_FINISH

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        in_flight, foreign, waiting = loads.in_flight, loads.foreign, loads.waiting_bytes
        speeds, size, chance = loads.speeds, request.body_bytes, rng.random
        mean = loads.output_tokens
        tokens: float = mean
        if request.max_tokens is not None and request.max_tokens < mean:
            tokens = request.max_tokens
        best, least = -1, 0.0
        for index in candidates:
            base_s, per_sequence_s, per_byte_s, capacity = speeds[index]
            running: float = in_flight[index] + foreign[index] + 1
            finish_s = PROMPT_WEIGHT * per_byte_s * (waiting[index] + size)
            if running > capacity:
                step_s = base_s + per_sequence_s * capacity
                finish_s += (running - capacity) / capacity * mean * step_s
                running = capacity
            finish_s += tokens * (base_s + per_sequence_s * running)
            finish_s *= 1.0 + NEAR * chance()
            if best < 0 or finish_s < least:
                best, least = index, finish_s
        if loads.unseen and tokens <= mean and chance() < EXPLORED_SHARE:
            return self._explore(candidates, loads, best)
        return best

    def _explore(self, candidates: Sequence[int], loads: Loads, best: int) -> int:
        """An engine not seen lately whose next step is at most twice that of the best."""

        def next_step_s(index: int) -> float:
            base_s, per_sequence_s, _, capacity = loads.speeds[index]
            running = loads.in_flight[index] + loads.foreign[index] + 1
            if running > capacity:
                return float("inf")
            return base_s + per_sequence_s * running

        limit_s = EXPLORED_WITHIN * next_step_s(best)
        for index in candidates:
            if index in loads.unseen and next_step_s(index) <= limit_s:
                return index
        return best
