"""What a plan refuses: the message has the field, the value and the accepted range."""

import math

import pytest

from proa.errors import FieldError, InputError
from proa.planner import bounds as b


@pytest.mark.parametrize("value", [0, -0.1, 1.0001, math.nan, math.inf, True])
def test_no_share_but_above_zero_and_up_to_one(value: float) -> None:
    with pytest.raises(FieldError) as refused:
        b.checked("active_share", value, b.SHARE)
    accepted = "a share above 0 and up to 1 (0.3 is 30 %)"
    assert str(refused.value) == f"active_share = {value!r}: accepted is {accepted}"
    assert (refused.value.field, refused.value.accepted) == ("active_share", accepted)
    assert isinstance(refused.value, InputError)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("bounds", "good", "bad"),
    [
        (b.SHARE, 1.0, 0.0),
        (b.SHARE_OR_ZERO, 0.0, -1e-9),
        (b.POSITIVE, 1e-9, 0.0),
        (b.NOT_NEGATIVE, 0.0, -1.0),
        (b.FACTOR, 1.0, 0.99),
        (b.GROWTH, -0.5, -1.0),
        (b.COUNT, 3.0, 2.5),
        (b.COUNT_OR_ZERO, 0, -1),
        (b.RARE, 0.05, 1.0),
        (b.YEARS, 1.5, 51),
    ],
)
def test_the_edges_of_each_range(bounds: b.Bounds, good: float, bad: float) -> None:
    assert float(b.checked("field", good, bounds)) == good
    with pytest.raises(FieldError):
        b.checked("field", bad, bounds)
