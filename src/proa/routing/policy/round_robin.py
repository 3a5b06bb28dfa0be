"""Everybody in turn."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy
from proa.routing.spec import PolicyName

_CLOCK = ""  # no engine has an empty name


class RoundRobin(Policy):
    """The candidate whose last turn is longest ago.

    Unlike a counter modulo the number of candidates, it stays fair when the sets of
    candidates differ from request to request.
    """

    name = PolicyName.ROUND_ROBIN

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        turns, engines = self._memory, self._engines
        best, oldest = -1, 0.0
        for index in candidates:
            turn = turns.get(engines[index], 0.0)
            if best < 0 or turn < oldest:
                best, oldest = index, turn
        now = turns.get(_CLOCK, 0.0) + 1.0
        turns[_CLOCK] = turns[engines[best]] = now
        return best
