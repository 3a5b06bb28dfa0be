"""One line of a reckoning, as a person would write it down."""

import msgspec

from proa.planner.text import Text, written


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a reckoning: `formula` in words, `filled` with the numbers, and the result.

    `key` is stable and names the field of the result where there is one.
    """

    key: str
    name: Text
    formula: Text
    filled: str
    result: float
    unit: Text

    def line(self, language: str) -> str:
        """`mean sessions = requests per second × … = 0.4 × 20 = 8 sessions`."""
        name, formula, unit = (text.say(language) for text in (self.name, self.formula, self.unit))
        gap = "" if language == "ko" else " "
        return f"{name} = {formula} = {self.filled} = {written(self.result)}{gap}{unit}"
