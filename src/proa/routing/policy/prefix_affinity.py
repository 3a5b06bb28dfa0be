"""To where the beginning of the prompt is in the cache, if that is worth the wait."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.finish import predicted_finish_s
from proa.routing.prefix import BLOCK_BYTES
from proa.routing.spec import PolicyName, RoutingSpec

ASSUMED_PROMPT_S_PER_BYTE = 1.0 / 16_000.0


class PrefixAffinity(Policy):
    """Expected finish, less the seconds of prompt reading that an engine's cache saves.

    saved_s = bytes of the leading blocks that the engine was given before x prompt_s_per_byte

    Where nothing tells how fast an engine reads prompts, 4,000 tokens/s of 4 bytes are
    assumed, so that the cache counts from the beginning.

    Not modelled:
        what engines drop from their caches; only what this worker sent is known.
    """

    name = PolicyName.PREFIX_AFFINITY
    is_always_asked = True

    def __init__(self, engines: Sequence[str], spec: RoutingSpec, memory: PolicyMemory) -> None:
        super().__init__(engines, spec, memory)
        self._index = memory.prefixes
        self._most_blocks = spec.policy_options.prefix_memory_blocks

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        prefix, index = request.prefix, self._index
        best, least = -1, 0.0
        for engine in candidates:
            finish_s = predicted_finish_s(loads, engine, request)
            finish_s += 0.02 * finish_s * rng.random()
            if prefix:
                saved = index.matched(prefix, self._engines[engine]) * BLOCK_BYTES
                pace = loads.speeds[engine].prompt_s_per_byte or ASSUMED_PROMPT_S_PER_BYTE
                finish_s -= saved * pace
            if best < 0 or finish_s < least:
                best, least = engine, finish_s
        if prefix:
            index.record(prefix, self._engines[best], self._most_blocks)
        return best
