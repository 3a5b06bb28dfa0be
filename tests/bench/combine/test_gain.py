"""What blocks add up to: gains within rounds, and what a least gain makes of them."""

import pytest
from tests.bench.combine.block_making import block

from proa.bench.combine.gain import Verdict, gain_stats, verdict_of
from proa.bench.combine.spec import Block


def blocks(together: float = 28.0) -> list[Block]:
    """Rounds drift by a tenth each; main 20, aux 10 tokens a second, together as given."""
    return [
        block(index, part, [speed * (1 + 0.1 * index)])
        for index in range(3)
        for part, speed in enumerate((20.0, 10.0, together))
    ]


def test_gains_are_within_the_rounds_whatever_drifts() -> None:
    stats = gain_stats(blocks())
    assert stats.over_main.estimate == pytest.approx(1.4, rel=0.01)
    assert stats.of_sum.estimate == pytest.approx(28 / 30, rel=0.01)
    assert stats.over_main.low is not None
    assert stats.over_main.low > 1.35
    assert [part.blocks for part in stats.parts] == [3, 3, 3]
    assert stats.parts[0].block_tokens_per_s == pytest.approx([20, 22, 24], rel=0.01)


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (1.3, Verdict.KEPT),
        (1.5, Verdict.MISSED),
        (1.4, Verdict.UNDECIDED),
        (None, Verdict.MEASURED),
    ],
)
def test_a_least_gain_is_kept_by_the_whole_interval(least: float | None, expected: Verdict) -> None:
    assert verdict_of(gain_stats(blocks()), least) is expected


def test_an_interrupted_round_counts_for_its_parts_alone() -> None:
    stats = gain_stats(blocks()[:7])
    assert stats.over_main.rounds == 2
    assert [part.blocks for part in stats.parts] == [3, 2, 2]
    nothing = gain_stats([])
    assert nothing.over_main.estimate is None
    assert verdict_of(nothing, 1.2) is Verdict.UNDECIDED


def test_a_part_that_refuses_gains_nothing() -> None:
    """A server that refuses is quick with the rest."""
    found = [*blocks()[:-1], block(2, 2, [33.0], refusals=[0])]
    assert verdict_of(gain_stats(found), 1.1) is Verdict.FAILING
