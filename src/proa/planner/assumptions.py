"""What a plan takes where nobody said it, and that it says so."""

from fractions import Fraction

import msgspec

from proa.planner.bounds import Bounds, checked
from proa.planner.text import Text, percent, written


class Assumption(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was not given; `field` as in a scenario file, `text` tells it in full."""

    field: str
    value: float | str
    text: Text


class Default(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken for `field` where it is not given; `text` has {value}."""

    field: str
    value: float
    bounds: Bounds
    text: Text
    as_percent: bool = False

    def assumption(self) -> Assumption:
        shown = percent(self.value) if self.as_percent else written(self.value)
        return Assumption(field=self.field, value=self.value, text=self.text.fill(value=shown))


class Answers:
    """Takes answers one by one, exactly; what was not given goes to `assumptions`."""

    def __init__(self) -> None:
        self.assumptions: list[Assumption] = []

    def take(self, given: float | None, default: Default) -> Fraction:
        """The given value, or the default, which is then told.

        Raises:
            FieldError: the given value is outside its range.
        """
        if given is None:
            self.assumptions.append(default.assumption())
            return checked(default.field, default.value, default.bounds)
        return checked(default.field, given, default.bounds)
