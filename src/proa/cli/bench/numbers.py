"""Numbers out of flags of `proa bench`, refused with the flag's name and what it takes."""

from proa.errors import FieldError


def whole_numbers(flag: str, text: str, accepted: str) -> tuple[int, ...]:
    """`"50,200,500"`, each 1 or more, none twice. Raises FieldError."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise FieldError(flag, text, accepted)
    return tuple(dict.fromkeys(found))


def at_least(flag: str, value: int, lowest: int) -> int:
    """Raises FieldError: less."""
    if value < lowest:
        raise FieldError(flag, value, f"{lowest} or more")
    return value


def above_zero(flag: str, value: float) -> float:
    """Raises FieldError: 0, less, or no number."""
    if not 0 < value < float("inf"):
        raise FieldError(flag, value, "a number above 0")
    return value
