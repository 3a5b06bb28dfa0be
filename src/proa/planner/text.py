"""How numbers are written in what a person reads."""

from fractions import Fraction

from proa.domain.text import Text
from proa.planner.exact import exact

__all__ = ["Text", "percent", "written"]


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
