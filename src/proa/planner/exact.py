"""Numbers as they were written: 0.1 is one tenth, so that a ceiling never turns 24 into 25."""

from fractions import Fraction


def exact(value: float | Fraction) -> Fraction:
    """The number that `value` is written as: 0.3 is 3/10, not the nearest binary fraction.

    Raises:
        ValueError: infinite or not a number.
    """
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
