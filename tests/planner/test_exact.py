"""Numbers as written: no ceiling moves because of binary fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.planner.exact import exact


@pytest.mark.parametrize(
    ("value", "wanted"), [(0.3, Fraction(3, 10)), (8, Fraction(8)), (1e-7, Fraction(1, 10**7))]
)
def test_a_number_is_what_was_written(value: float, wanted: Fraction) -> None:
    assert exact(value) == wanted


@settings(max_examples=50)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_nothing_is_lost_on_the_way_back(value: float) -> None:
    assert float(exact(value)) == value


def test_a_product_that_floats_make_larger_stays_whole() -> None:
    assert math.ceil(0.07 * 100) == 8  # the trap
    assert math.ceil(exact(0.07) * 100) == 7


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="Invalid literal"):
        exact(value)
