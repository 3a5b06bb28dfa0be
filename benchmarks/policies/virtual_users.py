"""Users in a closed loop before virtual engines: who keeps the promise, and goodput over it."""

from collections.abc import Sequence
from random import Random

from benchmarks.policies.pairs import LONGEST, SHORTEST, USER_TOKENS_PER_S, PairSpec
from benchmarks.policies.virtual import Ask, VirtualEngineSpec
from benchmarks.policies.virtual_gateway import VirtualGateway
from proa.routing.spec import PolicyName

WARM_S = 10.0
_COUNTED_S = 40.0
_BEGUN_S = 20.0
_SETTLED_S = 120.0
"""By then the first requests have ended, which were sent when nothing was known."""
_PROMPT_TOKENS = 20


def closed_loop(
    engines: Sequence[VirtualEngineSpec],
    policy: PolicyName,
    users: int,
    *,
    seed: int,
    counted_s: float = _COUNTED_S,
    after_s: float = WARM_S,
) -> list[Ask]:
    """The requests that were sent in the counted time after a standing start."""
    gateway, rng = VirtualGateway(engines, policy, seed=seed), Random(seed)
    clock = gateway.fleet.clock
    until_s = after_s + counted_s

    def ask(_: Ask | None = None) -> None:
        if clock.now_s < until_s + WARM_S:  # load stays until the counted ones have ended
            tokens = rng.randint(SHORTEST, LONGEST)
            gateway.send(Ask(_PROMPT_TOKENS, tokens, max_tokens=tokens))

    gateway.ended = ask
    for _ in range(users):
        clock.at(rng.random() * 0.5, ask)
    clock.run()
    return [done for done in gateway.fleet.done if after_s <= done.sent_s < until_s]


def attainment(done: Sequence[Ask]) -> float:
    return sum(ask.tokens_per_s >= USER_TOKENS_PER_S for ask in done) / max(1, len(done))


def shares_of_goodput(pair: PairSpec, policy: PolicyName, users: int) -> dict[str, float]:
    """Goodput about the most users that a policy carries, over that of both engines alone."""
    levels = [count for count in range(users - 6, users + 1, 2) if count > 0]
    alone = sum(_alone(spec, n) for spec, n in zip(pair.engines, pair.limits, strict=True))
    shares = {}
    for name, begin_s in (("share_of_goodput", _BEGUN_S), ("share_settled", _SETTLED_S)):
        served = max((_goodput(pair.engines, policy, n, begin_s) for n in levels), default=0.0)
        shares[name] = round(served / alone, 3)
    return shares


def _alone(spec: VirtualEngineSpec, limit: int) -> float:
    """The most that one engine gives by itself, with nobody to choose for it."""
    levels = [users for users in range(limit - 6, limit + 1) if users > 0]
    policy = PolicyName.ROUND_ROBIN
    return max((_goodput((spec,), policy, n, _SETTLED_S) for n in levels), default=0.0)


def _goodput(
    engines: Sequence[VirtualEngineSpec], policy: PolicyName, users: int, begin_s: float
) -> float:
    """Tokens per second that good answers got from a time on, whenever they began."""
    end_s = begin_s + _COUNTED_S
    done = closed_loop(engines, policy, users, seed=0, after_s=0.0, counted_s=end_s + begin_s)
    tokens = 0.0
    for ask in done:
        if ask.tokens_per_s >= USER_TOKENS_PER_S:
            assert ask.first_s is not None
            assert ask.last_s is not None
            within_s = min(ask.last_s, end_s) - max(ask.first_s, begin_s)
            tokens += ask.tokens_per_s * max(0.0, within_s)
    return tokens / (end_s - begin_s)
