"""The product's policies before virtual pairs: users, changes of speed, bursts and the oracle."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from benchmarks.policies.book import Book
from benchmarks.policies.oracle import Oracle, makespan_s, ttft_p95_s
from benchmarks.policies.pairs import (
    ATTAINMENT,
    LONGEST,
    PAIRS,
    REFERENCE,
    SHORTEST,
    PairSpec,
)
from benchmarks.policies.virtual import Ask
from benchmarks.policies.virtual_gateway import VirtualGateway
from benchmarks.policies.virtual_users import attainment, closed_loop, shares_of_goodput
from proa.routing.spec import PolicyName

_BURST_PROMPTS = (100, 400)
_MOVES = 200
_SEEDS = 3
_TRACES = 8  # the figures of one vary by about 5 %
COMPARED = (
    PolicyName.EXPECTED_FINISH,
    PolicyName.ROUND_ROBIN,
    PolicyName.LEAST_LOAD,
    PolicyName.POWER_OF_TWO,
)


def virtual_report(book: Book, told: Callable[[str], None]) -> None:
    """All of it, a figure at a time."""
    for pair in PAIRS.values():
        for policy in COMPARED:
            users = most_users(pair, policy)
            book.put(
                f"virtual/users/{pair.name}/{policy.value}",
                {"users": users} | shares_of_goodput(pair, policy, users),
            )
            told(f"{pair.name}, {policy.value}: {users} of {sum(pair.limits)} users")
        for kind in ("burst of 60", "burst of 200", "traffic with bursts"):
            found = beside_oracle(pair, kind)
            book.put(f"virtual/bursts/{pair.name}/{kind}", found)
            told(f"{pair.name}, {kind}: {found}")
        found = beside_oracle(pair, "burst of 200", is_limited=False)
        book.put(f"virtual/bursts/{pair.name}/burst of 200, no limits", found)
        told(f"{pair.name}, burst of 200, no limits: {found}")
    for name, factor, users in (("2 x slower", 2.0, 58), ("5 x slower", 5.0, 28)):
        found = after_change(factor, users)
        book.put(f"virtual/change/{name}", found)
        told(f"main engine {name} in mid-run: {found}")


def most_users(pair: PairSpec, policy: PolicyName) -> int:
    """The most users of whom all seeds' runs keep the promise, by bisection."""
    low, high = 0, sum(pair.limits) + 1
    while high - low > 1:
        users = (low + high) // 2
        worst = min(
            attainment(closed_loop(pair.engines, policy, users, seed=seed))
            for seed in range(_SEEDS)
        )
        low, high = (users, high) if worst >= ATTAINMENT else (low, users)
    return low


def after_change(factor: float, users: int) -> dict[str, Any]:
    """The main engine slows down in mid-run; counted from 10 s later on."""
    main = replace(REFERENCE.main, changes=((40.0, factor),))
    engines = (main, REFERENCE.aux)
    found = [
        attainment(closed_loop(engines, PolicyName.EXPECTED_FINISH, users, seed=seed, after_s=50.0))
        for seed in range(_SEEDS)
    ]
    return {"users": users, "attainment": round(min(found), 4)}


def beside_oracle(pair: PairSpec, kind: str, *, is_limited: bool = True) -> dict[str, Any]:
    """Makespan and P95 TTFT over the oracle's; clients limit answers to their lengths or don't."""
    ratios: dict[str, list[tuple[float, float]]] = {}
    for seed in range(_TRACES):
        asks = _trace(kind, Random(seed), is_limited=is_limited)
        played = {policy: _play(pair, policy, asks, seed) for policy in COMPARED}
        oracle = Oracle(asks, pair.engines, seed)
        starts = [[ask.engine for ask in done] for done in played.values()]
        shortest = oracle.least(makespan_s, starts, _MOVES)
        soonest = oracle.least(ttft_p95_s, starts, _MOVES)
        for policy, done in played.items():
            ratio = (makespan_s(done) / shortest, ttft_p95_s(done) / soonest)
            ratios.setdefault(policy.value, []).append(ratio)
    return {
        policy: {
            "makespan": round(sum(pair[0] for pair in found) / _TRACES, 3),
            "ttft_p95": round(sum(pair[1] for pair in found) / _TRACES, 3),
        }
        for policy, found in ratios.items()
    }


def _trace(kind: str, rng: Random, *, is_limited: bool) -> list[Ask]:
    def ask(due_s: float) -> Ask:
        made = _drawn(rng, is_limited=is_limited)
        made.due_s = due_s
        return made

    if kind.startswith("burst"):
        return [ask(0.0) for _ in range(int(kind.rpartition(" ")[2]))]
    due_s, asks = 0.0, [ask(at_s) for at_s in (5.0, 12.0, 19.0) for _ in range(25)]
    while due_s < 20.0:
        due_s += rng.expovariate(2.5)
        asks.append(ask(due_s))
    return sorted(asks, key=lambda each: each.due_s)


def _drawn(rng: Random, *, is_limited: bool) -> Ask:
    prompt, tokens = rng.randint(*_BURST_PROMPTS), rng.randint(SHORTEST, LONGEST)
    return Ask(prompt, tokens, max_tokens=tokens if is_limited else None)


def _play(pair: PairSpec, policy: PolicyName, asks: Sequence[Ask], seed: int) -> list[Ask]:
    """The trace, after 8 s of other traffic to learn from has ended."""
    gateway, rng = VirtualGateway(pair.engines, policy, seed=seed), Random(seed)
    clock, is_limited = gateway.fleet.clock, asks[0].max_tokens is not None

    def more(_: Ask | None = None) -> None:
        if clock.now_s < 8.0:
            gateway.send(_drawn(rng, is_limited=is_limited))

    gateway.ended = more
    for _ in range(40):
        more()
    clock.run()
    began_s = clock.now_s + 0.5
    gateway.ended = lambda ask: None
    played = [Ask(a.input_tokens, a.output_tokens, max_tokens=a.max_tokens) for a in asks]
    for ask, planned in zip(played, asks, strict=True):
        clock.at(began_s + planned.due_s, lambda ask=ask: gateway.send(ask))  # type: ignore[misc]
    clock.run()
    return played
