"""What pairs add up to: shifts by metric and length, the line through the rounds, the order."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.compare.pair_making import failed, pair, steady

from proa.bench.compare.shifts import differences, length_shifts, line, order_shift, ttft_shift
from proa.bench.compare.spec import PairSample


def rounds(
    per_request_s: float, per_token_s: float, *, count: int = 8, noise_s: float = 0.0
) -> list[PairSample]:
    dice = random.Random("rounds")
    made = []
    for number in range(count):
        for tokens in (10, 40, 100):
            pause_s = noise_s * dice.random()
            direct = steady(0.1, 0.01, tokens)
            first_s = 0.1 + per_request_s + per_token_s + pause_s
            gateway = steady(first_s, 0.01 + per_token_s, tokens)
            made.append(pair(direct, gateway, round=number, direct_first=number % 2 == 0))
    return made


@given(st.floats(-0.01, 0.05), st.floats(-0.001, 0.005))
@settings(max_examples=20, deadline=None)
def test_the_line_finds_what_was_added(per_request_s: float, per_token_s: float) -> None:
    told = line(rounds(per_request_s, per_token_s))
    assert told is not None
    assert told.per_request_s.estimate == pytest.approx(per_request_s, abs=1e-9)
    assert told.per_token_s.estimate == pytest.approx(per_token_s, abs=1e-9)
    assert told.per_token_s.n == 8


def test_shifts_are_by_length_and_all_together_at_the_first_token() -> None:
    pairs = rounds(0.002, 0.0)
    assert ttft_shift(pairs).n == 24
    assert ttft_shift(pairs).estimate == pytest.approx(0.002)
    lengths = length_shifts(pairs)
    assert [one.tokens for one in lengths] == [10, 40, 100]
    assert [one.e2e_s.estimate for one in lengths] == pytest.approx([0.002] * 3)
    assert lengths[2].direct.e2e_s == pytest.approx(0.1 + 99 * 0.01)
    assert lengths[0].gateway.output_tokens == 10


def test_failures_are_in_no_shift_and_counted_by_side() -> None:
    pairs = [*rounds(0.002, 0.0), pair(steady(0.1, 0.01, 10), failed(), round=9)]
    assert len(differences(pairs, "ttft_s")) == 24
    (first, *_) = length_shifts(pairs)
    assert (first.direct.failures, first.gateway.failures, first.pairs) == (0, 1, 8)
    assert first.direct.requests == 9


def test_probes_are_in_the_ttft_alone() -> None:
    pairs = [*rounds(0.002, 0.0), pair(steady(0.1, 0.01, 2), steady(0.11, 0.01, 2), is_probe=True)]
    assert len(differences(pairs, "ttft_s")) == 25
    assert len(differences(pairs, "tpot_s")) == len(differences(pairs, "e2e_s")) == 24


def test_a_round_without_all_lengths_has_no_line() -> None:
    pairs = rounds(0.002, 0.0)
    told = line(pairs[:-1])
    assert told is not None
    assert told.per_request_s.n == 7
    assert line([one for one in pairs if one.tokens == 10]) is None


def test_who_comes_second_may_find_a_warm_cache() -> None:
    fast, slow = steady(0.1, 0.01, 10), steady(0.15, 0.01, 10)
    pairs = [pair(slow, fast, direct_first=True), pair(fast, slow, direct_first=False)] * 6
    assert order_shift(pairs).high == pytest.approx(-0.05)
    assert ttft_shift(pairs).estimate == pytest.approx(0.0)
