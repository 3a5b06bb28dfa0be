"""Rounds of pairs: each length once, order that cancels, prompts alike but for their numbers."""

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from proa.bench.compare.plan import pair_prompts, planned_rounds
from proa.bench.lengths import LengthSpec
from proa.bench.workloads import Language, Prompts, TokenScale, WorkloadSpec


@given(st.sets(st.integers(1, 900), min_size=1, max_size=5), st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_each_round_has_each_length_and_two_rounds_have_both_orders(
    tokens: set[int], seed: int
) -> None:
    rounds = list(islice(planned_rounds(sorted(tokens), seed=seed), 6))
    assert all({pair.tokens for pair in planned} == tokens for planned in rounds)
    for first, second in zip(rounds[::2], rounds[1::2], strict=True):
        leads = [
            {pair.tokens: pair.direct_first for pair in planned} for planned in (first, second)
        ]
        assert all(leads[0][length] != leads[1][length] for length in tokens)
    numbers = [number for planned in rounds for pair in planned for number in pair.numbers]
    assert len(set(numbers)) == len(numbers)


def test_probes_go_in_between() -> None:
    first, second = islice(planned_rounds((50, 2), seed=1, probes=3), 2)
    assert sum(pair.is_probe for pair in first) == sum(pair.is_probe for pair in second) == 3
    assert [pair.tokens for pair in first if pair.is_probe] == [2, 2, 2]
    assert sum(pair.direct_first for pair in (*first, *second)) == 5


def test_order_and_numbers_are_by_lot() -> None:
    pairs = [pair for planned in islice(planned_rounds((50,), seed=1), 40) for pair in planned]
    assert {pair.direct_first for pair in pairs} == {True, False}
    assert {pair.numbers[0] < pair.numbers[1] for pair in pairs} == {True, False}
    assert pairs != list(next(planned_rounds((50,), seed=2)))


def test_the_prompts_of_a_pair_differ_in_their_numbers_only() -> None:
    workload = WorkloadSpec(input=LengthSpec(80), language=Language.KOREAN)
    prompts = Prompts(workload, TokenScale())
    (pair,) = next(planned_rounds((50,), seed=3))
    direct, gateway = (prompt.messages[0]["content"] for prompt in pair_prompts(prompts, pair))
    assert direct.startswith(f"{pair.numbers[0]}. ")
    assert gateway == direct.replace(f"{pair.numbers[0]}.", f"{pair.numbers[1]}.", 1) != direct
    assert {prompt.output_tokens for prompt in pair_prompts(prompts, pair)} == {50}
