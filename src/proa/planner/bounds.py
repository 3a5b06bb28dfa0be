"""Which numbers a plan accepts; anything else is refused with its field and the accepted range."""

from fractions import Fraction

import msgspec

from proa.errors import FieldError
from proa.planner.exact import exact


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """From `low` to `high`, both included unless `above`: then more than `low`."""

    accepted: str
    low: float
    high: float = 1e15
    above: bool = False
    whole: bool = False


SHARE = Bounds(accepted="a share above 0 and up to 1 (0.3 is 30 %)", low=0, high=1, above=True)
SHARE_OR_ZERO = Bounds(accepted="a share from 0 to 1 (0.3 is 30 %)", low=0, high=1)
RARE = Bounds(accepted="a share above 0 and up to 0.99 (0.05 is 5 %)", low=0, high=0.99, above=True)
POSITIVE = Bounds(accepted="a number above 0", low=0, above=True)
NOT_NEGATIVE = Bounds(accepted="a number from 0", low=0)
FACTOR = Bounds(accepted="a factor from 1 to 1,000", low=1, high=1000)
GROWTH = Bounds(
    accepted="a share a year above -1 and up to 10 (0.2 is 20 %)", low=-1, high=10, above=True
)
YEARS = Bounds(accepted="years from 0 to 50", low=0, high=50)
COUNT = Bounds(accepted="a whole number from 1", low=1, whole=True)
COUNT_OR_ZERO = Bounds(accepted="a whole number from 0", low=0, whole=True)


def checked(field: str, value: float, bounds: Bounds) -> Fraction:
    """`value` exactly, if it lies within `bounds`.

    Raises:
        FieldError: it does not, or is no finite number.
    """
    if isinstance(value, bool) or value != value or abs(value) > bounds.high:
        raise FieldError(field, value, bounds.accepted)
    number = exact(value)
    too_low = number <= exact(bounds.low) if bounds.above else number < exact(bounds.low)
    if too_low or (bounds.whole and number.denominator != 1):
        raise FieldError(field, value, bounds.accepted)
    return number
