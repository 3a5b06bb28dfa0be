"""What counts as a right answer; nothing here asks a model."""

import math
import re
import unicodedata

import msgspec

from proa.errors import FieldError

_THOUGHT = re.compile(r"^\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_END_MARKS = ".!。"
_NEAR = 1e-9


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """At most one of the first four; `tolerance` belongs to `number` and is absolute."""

    exact: str | None = None
    contains: str | None = None
    regex: str | None = None
    number: float | None = None
    tolerance: float = 0.0

    @property
    def named(self) -> int:
        """How many ways of checking are given."""
        given = (self.exact, self.contains, self.regex, self.number)
        return sum(value is not None for value in given)


def checked(check: Check, where: str) -> Check:
    """Raises FieldError: two ways at once, a pattern that is none, a tolerance below 0."""
    if check.named > 1:
        raise FieldError(where, check.named, "one of exact, contains, regex, number")
    if check.tolerance < 0:
        raise FieldError(f"{where}.tolerance", check.tolerance, "0 or more")
    try:
        re.compile(check.regex or "")
    except re.error as error:
        raise FieldError(f"{where}.regex", check.regex, f"a pattern of Python ({error})") from None
    return check


def is_right(check: Check, text: str) -> bool | None:
    """None where there is nothing to check against."""
    answer = visible(text)
    if check.exact is not None:
        return _plain(answer) == _plain(check.exact)
    if check.contains is not None:
        return _folded(check.contains) in _folded(answer)
    if check.regex is not None:
        return re.search(check.regex, answer) is not None
    if check.number is not None:
        return _is_number(answer, check.number, check.tolerance)
    return None


def visible(text: str) -> str:
    """The answer without thoughts in <think>, in composed letters (NFC), trimmed."""
    return unicodedata.normalize("NFC", _THOUGHT.sub("", text)).strip()


def last_number(text: str) -> float | None:
    """With or without commas at the thousands; None without any."""
    found = _NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None


def _is_number(answer: str, wanted: float, tolerance: float) -> bool:
    told = last_number(answer)
    if told is None:
        return False
    return abs(told - wanted) <= tolerance or math.isclose(told, wanted, rel_tol=_NEAR)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


def _plain(text: str) -> str:
    """Without case, extra spaces and a mark at the end."""
    return _folded(text).rstrip(_END_MARKS).rstrip()
