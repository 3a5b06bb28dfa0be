"""The better of two at random."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy
from proa.routing.spec import PolicyName


class PowerOfTwo(Policy):
    """Two different candidates at random, then the one with fewer requests in flight.

    Source:
        Mitzenmacher 2001, The power of two choices in randomized load balancing.
    """

    name = PolicyName.POWER_OF_TWO

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        count = len(candidates)
        if count == 1:
            return candidates[0]
        first = int(rng.random() * count)
        second = int(rng.random() * (count - 1))
        if second >= first:
            second += 1
        in_flight = loads.in_flight
        one, other = candidates[first], candidates[second]
        return one if in_flight[one] <= in_flight[other] else other
