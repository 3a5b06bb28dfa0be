"""The table of policies."""

from collections.abc import Sequence

from proa.routing.policy.base import Policy, PolicyMemory
from proa.routing.policy.expected_finish import ExpectedFinish
from proa.routing.policy.least_load import LeastLoad
from proa.routing.policy.lora import Lora
from proa.routing.policy.power_of_two import PowerOfTwo
from proa.routing.policy.prefix_affinity import PrefixAffinity
from proa.routing.policy.round_robin import RoundRobin
from proa.routing.policy.session import Session
from proa.routing.policy.weighted import Weighted
from proa.routing.spec import PolicyName, RoutingSpec

POLICIES: dict[PolicyName, type[Policy]] = {
    policy.name: policy
    for policy in (
        ExpectedFinish,
        LeastLoad,
        Weighted,
        RoundRobin,
        PowerOfTwo,
        Session,
        PrefixAffinity,
        Lora,
    )
}


def make_policy(spec: RoutingSpec, engines: Sequence[str], memory: PolicyMemory) -> Policy:
    """The policy that `spec` names, for engines in fleet order."""
    return POLICIES[spec.policy](engines, spec, memory)
