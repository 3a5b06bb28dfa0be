"""Requests in proportion to weights."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy
from proa.routing.spec import PolicyName


class Weighted(Policy):
    """Smooth weighted round robin.

    Each pick adds every candidate's weight to its credit, takes the largest credit
    and charges it the sum of the weights: proportions are exact over a period and
    evenly interleaved, for any set of candidates. Weight 0 gets requests only when
    all candidates have weight 0; these then take turns.

    Source:
        nginx, ngx_http_upstream_round_robin.c (the "smooth" algorithm).
    """

    name = PolicyName.WEIGHTED

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        weights = [self._weights[index] for index in candidates]
        total = sum(weights)
        if total <= 0.0:
            weights, total = [1.0] * len(weights), float(len(weights))
        best, most = -1, 0.0
        for index, weight in zip(candidates, weights, strict=True):
            if weight > 0.0:
                credit = self._memory.get(self._engines[index], 0.0) + weight
                self._memory[self._engines[index]] = credit
                if best < 0 or credit > most:
                    best, most = index, credit
        self._memory[self._engines[best]] -= total
        return best
