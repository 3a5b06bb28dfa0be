"""B54 of the list of faults: a buffering proxy looks like a faster one."""

import pytest
from tests.bench.compare.pair_making import pair, sample, steady

from proa.bench.compare.buffering import Sign, buffering
from proa.bench.compare.spec import PairSample
from proa.bench.sample import RequestSample


def pairs(gateway: RequestSample, direct: RequestSample | None = None) -> list[PairSample]:
    return [pair(direct or steady(0.022, 0.005, 40), gateway) for _ in range(8)]


def test_a_transparent_hop_shows_no_sign() -> None:
    found = buffering(pairs(steady(0.0222, 0.005, 40)))
    assert found.signs == ()
    assert found.gateway.reads_per_event == 1.0
    assert found.gateway.bunched_share == 0.0


def test_a_lower_time_per_token_through_the_gateway_is_a_fault() -> None:
    """https://github.com/confidential-dot-ai/c8s/issues/140: ITL 5.49 to 1.58 ms, TTFT 22 to 287.

    Only the times are told there; that alone is enough.
    """
    found = buffering(pairs(steady(0.287, 0.00158, 40), steady(0.022, 0.00549, 40)))
    assert found.signs == (Sign.FASTER,)


def test_bundles_are_seen_by_their_reads_and_their_gaps() -> None:
    """Eight events at once, every 40 ms."""
    times = [0.062 + 0.04 * (n // 8) for n in range(40)]
    found = buffering(pairs(sample(times, reads=[n // 8 for n in range(40)])))
    assert {Sign.READS, Sign.BUNCHED} <= set(found.signs)
    assert found.gateway.reads_per_event == pytest.approx(1 / 8)
    assert found.gateway.bunched_share == pytest.approx(35 / 39)


def test_a_whole_answer_at_once_has_no_speed() -> None:
    found = buffering(pairs(sample([0.3] * 40, reads=[0] * 40)))
    assert Sign.HELD_BACK in found.signs
    assert found.gateway.held_back_share == 1.0


def test_a_busy_client_that_reads_bundles_on_both_sides_accuses_nobody() -> None:
    direct = steady(0.022, 0.005, 40, reads=[n // 2 for n in range(40)])
    gateway = steady(0.022, 0.005, 40, reads=[n // 3 for n in range(40)])
    assert buffering(pairs(gateway, direct)).signs == ()


def test_gaps_too_short_to_tell_are_not_judged() -> None:
    assert (
        buffering(pairs(steady(0.02, 5e-5, 40), steady(0.02, 6e-5, 40))).direct.bunched_share
        is None
    )
    assert buffering([]).signs == ()
