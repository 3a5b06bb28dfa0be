"""To where the request's LoRA adapter is loaded."""

from collections.abc import Sequence
from random import Random

from proa.domain.request import RouteRequest
from proa.routing.loads import Loads
from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.finish import expected_finish_s
from proa.routing.spec import PolicyName, RoutingSpec


class Lora(Policy):
    """Adapters by `adapters.py`; requests that name none go where they are finished first.

    An engine's queue counts in typical requests: those in progress times its step time
    over the fastest candidate's.
    """

    name = PolicyName.LORA
    is_always_asked = True

    def __init__(self, engines: Sequence[str], spec: RoutingSpec, memory: PolicyMemory) -> None:
        super().__init__(engines, spec, memory)
        self._book = memory.adapters
        self._most = spec.policy_options.adapters_per_engine
        self._adapters = frozenset(adapter.name for adapter in spec.adapters)

    def pick(
        self, candidates: Sequence[int], loads: Loads, request: RouteRequest, rng: Random
    ) -> int:
        names = self._engines
        known = request.model in self._adapters or any(
            self._book.is_warm(names[i], request.model or "") for i in candidates
        )
        if request.model is None or not known:
            return min(
                candidates,
                key=lambda i: expected_finish_s(loads, i, request) * (1.0 + 0.02 * rng.random()),
            )
        steps = {i: loads.speeds[i].base_s + loads.speeds[i].per_sequence_s for i in candidates}
        fastest = min(steps.values()) or 1.0
        queues = {
            names[i]: (loads.in_flight[i] + loads.foreign[i]) * steps[i] / fastest
            for i in candidates
        }
        return names.index(self._book.place(request.model, queues, self._most))
