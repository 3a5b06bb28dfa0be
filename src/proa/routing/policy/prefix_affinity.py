"""To where the beginning of the prompt is in the cache, if that is worth the wait."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.finish import expected_finish_s
from proa.routing.prefix import BLOCK_BYTES
from proa.routing.spec import PolicyName, RoutingSpec
from proa.routing.speeds import PROMPT_WEIGHT

_ASSUMED_PACE = PROMPT_WEIGHT / 16_000.0


class PrefixAffinity(Policy):
    """Expected finish, less the seconds of prompt reading that an engine's cache saves.

    saved_s = bytes of the leading blocks that the engine was given before x prompt_s_per_byte

    Both weigh the time before the first token as expected finish does.

    Where nothing tells how fast an engine reads prompts, 4,000 tokens/s of 4 bytes are
    assumed, so that the cache counts from the beginning.

    Not modelled:
        what other workers and other clients sent; what engines drop from their caches,
        but for the amounts that KV events tell (see `CacheMirror`).
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
            finish_s = expected_finish_s(loads, engine, request)
            finish_s += 0.02 * finish_s * rng.random()
            if prefix:
                saved = index.matched(prefix, self._engines[engine]) * BLOCK_BYTES
                pace = loads.outlooks[engine].prompt_s_per_byte or _ASSUMED_PACE
                finish_s -= saved * pace
            if best < 0 or finish_s < least:
                best, least = engine, finish_s
        if prefix:
            index.record(prefix, self._engines[best], self._most_blocks)
        return best
