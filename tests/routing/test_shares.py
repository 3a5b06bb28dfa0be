"""Passive ejection has limits."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from proa.routing.shares import SURPLUS_SHARE, admitted


@given(
    shares=st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=8),
    seed=st.integers(0, 10_000),
)
def test_somebody_is_always_left(shares: list[float], seed: int) -> None:
    pool = range(len(shares))
    kept = admitted(pool, shares, Random(seed))
    assert kept
    assert set(kept) <= set(pool)
    assert len(set(kept)) == len(kept)
    if all(share == 0 for share in shares):
        assert list(kept) == list(pool)
    elif sum(share == 0 for share in shares) <= len(shares) // 2:
        assert all(shares[i] > 0 for i in kept)


def test_an_equal_slow_start_of_all_holds_nobody_back() -> None:
    assert admitted([0, 1], [0.1, 0.1], Random(1)) == [0, 1]


def test_above_half_the_ejected_get_a_small_share() -> None:
    rng, times = Random(2), 4000
    seen = sum(len(admitted([0, 1, 2, 3], [1.0, 0.0, 0.0, 0.0], rng)) - 1 for _ in range(times))
    assert abs(seen / times - SURPLUS_SHARE) < 0.02
