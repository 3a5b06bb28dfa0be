"""One value of a plan, from a flag's text or from TOML and JSON: read, checked, or refused."""

import math
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from proa.cli.plan.fields import Field, Kind
from proa.errors import FieldError
from proa.units import Money, parse_money, parse_tokens

_PARAMETERS = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([KkMmBbTt]?)", re.ASCII)
_BARE = re.compile(r"[0-9.,+eE-]+", re.ASCII)
_MOST_MONEY = 1e18
_SCALES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class PlacedError(FieldError):
    """The same as `error`, told with where it was met."""

    def __init__(self, error: FieldError, told: str) -> None:
        super().__init__(error.field, error.value, error.accepted)
        self.args = (told,)


def at_flag(error: FieldError, flag: str) -> PlacedError:
    """The error under the name that the user typed."""
    return PlacedError(error, flag + str(error).removeprefix(error.field))


def in_file(error: FieldError, place: str) -> PlacedError:
    """The error with the file's name and line before it."""
    return PlacedError(error, f"{place}: {error}")


class UnknownKeyError(FieldError):
    """A key that no question of a plan has."""

    def __init__(self, key: str, value: object, known: Iterable[str]) -> None:
        hint = nearest(key, known)
        super().__init__(key, value, hint)
        self.args = (f"{key}: no such key of a plan; {hint}",)


def read_value(field: Field, value: object) -> Any:
    """The value as the plan needs it.

    Raises:
        FieldError: it is no such value, or outside the accepted range.
    """
    try:
        read = _READERS[field.kind](field, value)
    except (ValueError, OverflowError, TypeError):
        raise FieldError(field.name, value, accepted(field)) from None
    if isinstance(read, int | float) and not isinstance(read, bool) and not _within(field, read):
        raise FieldError(field.name, value, accepted(field))
    return read


def accepted(field: Field) -> str:
    """What a field takes, in words."""
    match field.kind:
        case Kind.SHARE:
            return f"a share from {field.least:g} to {field.most:g} (0.3 is 30 %)"
        case Kind.NUMBER:
            return f"a number {_range(field)}"
        case Kind.COUNT:
            return f"a whole number {_range(field)}"
        case Kind.TOKENS:
            return f"a whole number of tokens {_range(field)}, as 8192 or 8K (K is 1,024)"
        case Kind.PARAMETERS:
            return "a number of parameters from 1M to 100T, as 30B or 30e9"
        case Kind.MONEY:
            return "an amount from 0, as 5000, $5,000, 450 USD or 700만원"
        case Kind.SWITCH:
            return "true or false"
        case Kind.CHOICES:
            return f"one or more of {', '.join(field.choices)}"
        case Kind.FILES:
            return "a path, or a list of paths"
        case _:
            return f"one of {', '.join(field.choices)}" if field.choices else "a name"


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean a or b?`, or the known names where none is near."""
    names = list(known)
    folded = {each.casefold(): each for each in names}
    close = get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(folded[each] for each in close)}?"
    return f"accepted are {', '.join(names)}"


def _range(field: Field) -> str:
    least = 0.0 if field.least is None else field.least
    above = "above 0" if 0 < least < 1e-6 else f"from {least:,g}"
    return above if field.most is None or field.most >= 1e9 else f"{above} to {field.most:,.10g}"


def _within(field: Field, value: float) -> bool:
    if not math.isfinite(value):
        return False
    return (field.least is None or value >= field.least) and (
        field.most is None or value <= field.most
    )


def _number(field: Field, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    return float(value.replace(",", "") if isinstance(value, str) else value)


def _count(field: Field, value: object) -> int:
    number = _number(field, value)
    if number != int(number):
        raise ValueError(value)
    return int(number)


def _tokens(field: Field, value: object) -> int:
    if isinstance(value, str):
        return parse_tokens(value.replace(",", ""))
    return _count(field, value)


def _parameters(field: Field, value: object) -> float:
    match = _PARAMETERS.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return _number(field, value)
    return float(Fraction(match[1]) * _SCALES[match[2].lower()])


def _money(field: Field, value: object) -> Money:
    """An amount; its currency is empty where none was written."""
    if isinstance(value, str) and not _BARE.fullmatch(value.strip()):
        return parse_money(value)
    amount = _number(field, value)
    if not 0 <= amount < _MOST_MONEY:
        raise ValueError(value)
    return Money(amount, "")


def _text(field: Field, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(value)
    text = value.strip()
    if not field.choices:
        return text
    return _one_of(field, text)


def _one_of(field: Field, text: str) -> str:
    folded = {choice.casefold(): choice for choice in field.choices}
    if text.casefold() not in folded:
        raise ValueError(text)
    return folded[text.casefold()]


def _choices(field: Field, value: object) -> tuple[str, ...]:
    texts = value.split(",") if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not texts:
        raise ValueError(value)
    return tuple(_one_of(field, text.strip()) for text in texts if _is_text(text))


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        raise ValueError(value)
    return True


def _switch(field: Field, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.casefold() in _WORDS:
        return _WORDS[value.casefold()]
    raise ValueError(value)


def _files(field: Field, value: object) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list | tuple):
        raise ValueError(value)
    if not all(isinstance(path, str) and path and "\0" not in path for path in paths):
        raise ValueError(value)
    return tuple(paths)


_READERS: dict[Kind, Callable[[Field, object], Any]] = {
    Kind.SHARE: _number,
    Kind.NUMBER: _number,
    Kind.COUNT: _count,
    Kind.TOKENS: _tokens,
    Kind.PARAMETERS: _parameters,
    Kind.MONEY: _money,
    Kind.TEXT: _text,
    Kind.CHOICES: _choices,
    Kind.SWITCH: _switch,
    Kind.FILES: _files,
}
