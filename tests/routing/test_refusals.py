"""Engines that refuse get less, for a while."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.refusals import LEAST_SHARE, Refusals


def test_without_refusals_an_engine_has_its_whole_share() -> None:
    assert Refusals().share(5.0) == 1.0


def test_each_refusal_halves_the_share() -> None:
    refusals = Refusals()
    refusals.record(10.0)
    refusals.record(10.0)
    assert refusals.share(10.0) == 0.25


def test_it_grows_back_within_five_seconds() -> None:
    refusals = Refusals()
    for _ in range(50):
        refusals.record(10.0)
    assert refusals.share(10.0) == LEAST_SHARE
    assert refusals.share(12.0) == pytest.approx(0.45)
    assert refusals.share(15.0) == 1.0


@given(st.lists(st.floats(0.0, 100.0), max_size=50), st.floats(0.0, 200.0))
def test_the_share_stays_between_its_bounds(times: list[float], now_s: float) -> None:
    refusals = Refusals()
    for at_s in sorted(times):
        refusals.record(at_s)
    assert LEAST_SHARE <= refusals.share(now_s) <= 1.0
