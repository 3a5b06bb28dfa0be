"""Requests of one session to one engine, as long as that is not overloaded."""

from collections.abc import Sequence
from hashlib import blake2b
from math import ceil
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.finish import expected_finish_s
from proa.routing.spec import PolicyName, RoutingSpec

_TYPICAL_BATCH = 16.0


class Session(Policy):
    """Consistent hashing with bounded loads.

    A session ranks all engines by a hash of both names (rendezvous hashing), so that
    it keeps its engine when others come or go, and takes the first whose requests are
    within a bound:

    bound = ceil(factor x (requests on all candidates + 1) x the engine's share of their speed)

    Requests without a session go to where they are expected to finish first.

    Source:
        Mirrokni, Thorup, Zadimoghaddam 2018, Consistent hashing with bounded loads,
        arXiv:1608.01350; Thaler & Ravishankar 1998 for the ranking.
    """

    name = PolicyName.SESSION

    def __init__(self, engines: Sequence[str], spec: RoutingSpec, memory: PolicyMemory) -> None:
        super().__init__(engines, spec, memory)
        self._factor = spec.policy_options.session_load_factor
        self._seeds = [engine.encode() for engine in self._engines]

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        if not request.session:
            return min(
                candidates,
                key=lambda i: expected_finish_s(loads, i, request) * (1.0 + 0.02 * rng.random()),
            )
        session = request.session.encode("utf-8", "surrogateescape")
        rates = {i: _rate(loads, i) for i in candidates}
        total = 1 + sum(loads.in_flight[i] + loads.foreign[i] for i in candidates)
        scale = self._factor * total / sum(rates.values())
        ranked = sorted(candidates, key=lambda i: _rank(session, self._seeds[i]), reverse=True)
        for index in ranked:
            if loads.in_flight[index] + loads.foreign[index] < ceil(scale * rates[index]):
                return index
        return ranked[0]


def _rank(session: bytes, engine: bytes) -> bytes:
    """The same in every process and on every machine."""
    return blake2b(session + b"\0" + engine, digest_size=8).digest()


def _rate(loads: Loads, index: int) -> float:
    """Tokens per second of one of many streams, for the share of the load."""
    speed = loads.speeds[index]
    step_s = speed.base_s + speed.per_sequence_s * min(_TYPICAL_BATCH, speed.capacity)
    return 1.0 / max(step_s, 1e-9)
