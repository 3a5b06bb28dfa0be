"""Check digits: what makes a number of the right shape likelier, or tells two kinds apart."""

from collections.abc import Sequence
from datetime import date

_RESIDENT = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
_BUSINESS = (1, 3, 7, 1, 3, 7, 1, 3, 5)
_CENTURIES = {"9": 1800, "0": 1800, "1": 1900, "2": 1900, "5": 1900, "6": 1900,
              "3": 2000, "4": 2000, "7": 2000, "8": 2000}  # fmt: skip

_LAST_BORN = 2049  # the digits of the century tell no later ones


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def luhn(digits: str) -> bool:
    """Cards: every second digit from the right doubled, digits summed, a multiple of ten."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def resident(digits: str) -> bool:
    """(11 - sum mod 11) mod 10. Numbers given since October 2020 have no check digit."""
    return (11 - _weighted(digits, _RESIDENT) % 11) % 10 == int(digits[12])


def foreigner(digits: str) -> bool:
    """(13 - sum mod 11) mod 10, never confirmed, and not in numbers since October 2020."""
    return (13 - _weighted(digits, _RESIDENT) % 11) % 10 == int(digits[12])


def business(digits: str) -> bool:
    """(10 - (sum + floor(5 d9 / 10)) mod 10) mod 10."""
    total = _weighted(digits, _BUSINESS) + int(digits[8]) * 5 // 10
    return (10 - total % 10) % 10 == int(digits[9])


def corporate(digits: str) -> bool:
    """Weights 1 and 2 in turn over twelve digits."""
    return (10 - _weighted(digits, (1, 2) * 6) % 10) % 10 == int(digits[12])


def article(digits: str) -> bool:
    """EAN-13: weights 1 and 3 in turn, a multiple of ten."""
    return _weighted(digits, (1, 3) * 6 + (1,)) % 10 == 0


def iban(text: str) -> bool:
    """ISO 7064 MOD 97-10 of the number with its first four characters at the end."""
    turned = text[4:] + text[:4]
    return int("".join(str(int(char, 36)) for char in turned)) % 97 == 1


def born(digits: str) -> int | None:
    """The year of birth that a resident number begins with; None where that is no date."""
    century = _CENTURIES[digits[6]]
    year, month, day = century + int(digits[:2]), int(digits[2:4]), int(digits[4:6])
    if year > _LAST_BORN:
        return None
    try:
        date(year, month, day)
    except ValueError:
        return None
    return year


CHECKS = {"luhn": luhn, "business": business, "corporate": corporate, "resident": resident}
"""Check rules that a detector of the user's may name."""
LENGTHS = {"business": 10, "corporate": 13, "resident": 13}
