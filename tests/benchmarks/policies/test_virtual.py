"""Virtual engines keep the times that they are given; policies before them keep the promise."""

import pytest
from benchmarks.policies.oracle import Oracle, makespan_s, replay, ttft_p95_s
from benchmarks.policies.pairs import MAIN, PAIRS, REFERENCE
from benchmarks.policies.virtual import Ask, VirtualEngineSpec
from benchmarks.policies.virtual_runs import after_change
from benchmarks.policies.virtual_users import attainment, closed_loop

from proa.domain.timing import StepTime
from proa.routing.spec import PolicyName

STEP = StepTime(base_s=0.006, per_sequence_s=0.001)


def test_a_stream_takes_a_step_per_token_after_its_prompt() -> None:
    engine = VirtualEngineSpec("e", STEP, prefill_tokens_per_s=1000.0)
    (done,) = replay([Ask(100, 11)], engine)
    assert done.first_s == pytest.approx(0.1 + STEP.step_s(0))
    assert done.tokens_per_s == pytest.approx(1.0 / STEP.step_s(1))


def test_streams_share_their_steps() -> None:
    engine = VirtualEngineSpec("e", STEP, prefill_tokens_per_s=1e9)
    done = replay([Ask(1, 101) for _ in range(10)], engine)
    assert all(ask.tokens_per_s == pytest.approx(1.0 / STEP.step_s(10)) for ask in done)


def test_a_long_prompt_is_taken_in_by_chunks() -> None:
    engine = VirtualEngineSpec("e", STEP, prefill_tokens_per_s=1000.0, chunk_tokens=100)
    (done,) = replay([Ask(250, 2)], engine)
    assert done.first_s == pytest.approx(0.25 + 3 * STEP.step_s(0))


def test_what_is_above_the_limit_waits() -> None:
    engine = VirtualEngineSpec("e", STEP, prefill_tokens_per_s=1e9, max_sequences=1)
    first, second = replay([Ask(1, 11), Ask(1, 11)], engine)
    assert second.first_s is not None
    assert first.last_s is not None
    assert second.first_s > first.last_s


def test_limits_of_the_reference_pair_are_those_of_its_formula() -> None:
    assert REFERENCE.limits == (85, 30)


def test_the_oracle_is_no_worse_than_any_start() -> None:
    asks = [Ask(100, 30 + 10 * n) for n in range(30)]
    engines = PAIRS["3:1"].engines
    oracle = Oracle(asks, engines, seed=1)
    alternating = [n % 2 for n in range(30)]
    for figure in (makespan_s, ttft_p95_s):
        played = [
            ask
            for index, engine in enumerate(engines)
            for ask in replay([a for n, a in enumerate(asks) if n % 2 == index], engine)
        ]
        assert oracle.least(figure, [alternating], 20) <= figure(played)


@pytest.mark.parametrize("seed", [1, 2])
def test_108_users_get_their_speed_after_ten_seconds(seed: int) -> None:
    done = closed_loop(REFERENCE.engines, PolicyName.EXPECTED_FINISH, 108, seed=seed)
    assert attainment(done) >= 0.95


@pytest.mark.parametrize("name", ["1:1", "2:1", "3:1", "10:1"])
def test_other_pairs_carry_94_percent_of_both_alone(name: str) -> None:
    pair = PAIRS[name]
    users = int(0.94 * sum(pair.limits))
    assert attainment(closed_loop(pair.engines, PolicyName.EXPECTED_FINISH, users, seed=1)) >= 0.95


@pytest.mark.parametrize(("factor", "users"), [(2.0, 58), (5.0, 28)])
def test_a_change_of_speed_is_followed_within_ten_seconds(factor: float, users: int) -> None:
    assert after_change(factor, users)["attainment"] >= 0.95


@pytest.mark.parametrize("policy", [PolicyName.ROUND_ROBIN, PolicyName.LEAST_LOAD])
def test_counting_requests_is_not_enough(policy: PolicyName) -> None:
    assert attainment(closed_loop(REFERENCE.engines, policy, 80, seed=1)) < 0.9


def test_an_engine_alone_keeps_its_limit() -> None:
    done = replay([Ask(1, 200) for _ in range(85)], MAIN)
    assert all(ask.tokens_per_s >= 30.0 for ask in done)
