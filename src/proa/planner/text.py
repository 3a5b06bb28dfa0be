"""What a person reads, in both languages, and how numbers are written in it."""

from fractions import Fraction

import msgspec

from proa.planner.exact import exact


class Text(msgspec.Struct, frozen=True):
    """One statement in Korean and in English."""

    ko: str
    en: str

    def say(self, language: str) -> str:
        """`ko` or `en`; any other language gets English."""
        return self.ko if language == "ko" else self.en

    def fill(self, **values: object) -> "Text":
        """Both with `values` put in, as `str.format` does."""
        return Text(self.ko.format(**values), self.en.format(**values))


def written(number: float | Fraction) -> str:
    """As a person writes it: `7,200`, `0.4`, `17.67`; four digits where it is not whole."""
    value = float(number)
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    digits = f"{value:.4g}"
    return f"{value:.10f}".rstrip("0") if "e" in digits else digits


def percent(share: float | Fraction) -> str:
    """A share as `30 %`."""
    return f"{written(exact(share) * 100)} %"
