"""What may be said: nothing of unequal answers (B60), a margin only when it is shown."""

import random

import pytest
from tests.bench.compare.pair_making import failed, pair, steady

from proa.bench.compare.buffering import buffering
from proa.bench.compare.spec import PairSample
from proa.bench.compare.verdict import Verdict, margin_test, unequal_lengths, verdict_of


def pairs(added_s: float, *, noise_s: float = 0.0001, count: int = 30) -> list[PairSample]:
    dice = random.Random("margins")
    return [
        pair(
            steady(0.02 + noise_s * dice.random(), 0.005, 20),
            steady(0.02 + added_s + noise_s * dice.random(), 0.005, 20),
        )
        for _ in range(count)
    ]


def judged(found: list[PairSample], margin_s: float | None = None) -> Verdict:
    margins = [] if margin_s is None else [margin_test(found, "ttft_s", margin_s)]
    return verdict_of(found, buffering(found), unequal_lengths(found), margins)


@pytest.mark.parametrize(
    ("added_s", "margin_s", "expected"),
    [
        (0.0003, 0.0005, Verdict.EQUIVALENT),
        (0.0008, 0.0005, Verdict.DIFFERENT),
        (-0.0008, 0.0005, Verdict.DIFFERENT),
        (0.0005, 0.0005, Verdict.UNDECIDED),
        (0.0003, None, Verdict.MEASURED),
    ],
)
def test_a_margin_is_kept_when_the_whole_interval_keeps_it(
    added_s: float, margin_s: float | None, expected: Verdict
) -> None:
    assert judged(pairs(added_s), margin_s) is expected


def test_too_few_pairs_decide_nothing() -> None:
    assert judged(pairs(0.0, count=4), 0.01) is Verdict.UNDECIDED


def test_two_one_sided_tests_err_as_rarely_as_they_say() -> None:
    """At a shift of just the margin, at most 5 % call it equivalent."""
    dice = random.Random("size of the test")
    wrong = 0
    for _ in range(200):
        made = [
            pair(steady(0.02, 0.005, 2), steady(0.0205 + dice.gauss(0, 0.0002), 0.005, 2))
            for _ in range(20)
        ]
        wrong += margin_test(made, "ttft_s", 0.0005).verdict is Verdict.EQUIVALENT
    assert wrong / 200 <= 0.08


def test_answers_of_different_length_are_not_compared() -> None:
    """https://github.com/ai-dynamo/aiperf/issues/339: 300 tokens against 1023."""
    found = [pair(steady(0.02, 0.005, 1023), steady(0.02, 0.005, 300)) for _ in range(4)]
    assert unequal_lengths(found) == [1023]
    assert judged(found, 0.01) is Verdict.REFUSED


def test_one_pair_that_ended_early_among_many_is_no_reason_to_refuse() -> None:
    found = [*pairs(0.0), pair(steady(0.02, 0.005, 20), steady(0.02, 0.005, 12))]
    assert unequal_lengths(found) == []


def test_a_buffering_gateway_keeps_no_margin() -> None:
    found = [pair(steady(0.02, 0.005, 20), steady(0.0201, 0.002, 20)) for _ in range(20)]
    assert judged(found, 0.01) is Verdict.BUFFERS


def test_a_gateway_that_fails_is_not_judged_by_what_is_left() -> None:
    found = [*pairs(0.0), *(pair(steady(0.02, 0.005, 20), failed()) for _ in range(3))]
    assert judged(found, 0.01) is Verdict.FAILING
