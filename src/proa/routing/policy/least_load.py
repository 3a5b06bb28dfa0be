"""Fewest own requests in flight."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy
from proa.routing.spec import PolicyName


class LeastLoad(Policy):
    """Fewest own requests in flight, ties broken evenly at random (reservoir sampling)."""

    name = PolicyName.LEAST_LOAD

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        in_flight = loads.in_flight
        best, least, ties = -1, 0, 0
        for index in candidates:
            load = in_flight[index]
            if ties == 0 or load < least:
                best, least, ties = index, load, 1
            elif load == least:
                ties += 1
                if rng.random() * ties < 1.0:
                    best = index
        return best
