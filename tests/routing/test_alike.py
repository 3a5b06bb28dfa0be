"""What cannot be told apart comes to lie together; the rest stays where it is."""

from itertools import pairwise
from math import log, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.alike import drawn_together


def test_what_scatters_comes_together() -> None:
    one, other = drawn_together([1.0, 1.01], 0.06)
    assert log(other / one) < log(1.01) / 5
    assert one * other == pytest.approx(1.01)


def test_what_is_apart_stays_apart() -> None:
    assert drawn_together([1.0, 2.0, 3.0], 0.06) == pytest.approx([1.0, 2.0, 3.0])


def test_what_is_not_above_zero_is_left_alone() -> None:
    assert drawn_together([0.0, 1.0, 0.0], 0.5) == [0.0, 1.0, 0.0]


def test_groups_do_not_touch_each_other() -> None:
    found = drawn_together([1.0, 1.02, 10.0, 10.2], 0.06)
    assert found[2:] == pytest.approx([10.0 * value for value in found[:2]])


@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20),
    st.floats(0.01, 1.0),
)
def test_as_the_formula_says_and_in_order(values: list[float], within: float) -> None:
    found = drawn_together(values, within)
    for value, mean in zip(values, found, strict=True):
        shares = [max(0.0, 1.0 - abs(log(value / other)) / within) for other in values]
        expected = prod(o ** (s / sum(shares)) for o, s in zip(values, shares, strict=True))
        assert mean == pytest.approx(expected, rel=1e-6)
    in_order = sorted(range(len(values)), key=values.__getitem__)
    ordered = [found[index] for index in in_order]
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(ordered))
