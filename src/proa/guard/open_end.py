"""What the end of a text leaves open: where something begins that more text may complete."""

import re
from collections.abc import Iterator

from proa.guard.addresses import open_address, open_name
from proa.guard.papers import REGIONS
from proa.guard.runs import may_end_run, open_run

HELD_CHARS = 64
_DIGIT = re.compile(r"\d")
_SHORT_CHARS = 20  # the longest of `_WITH_DIGITS`
_WORD = re.compile(r"[!-~]{1,64}\Z")
_WORD_START = re.compile(r"[A-Za-z0-9_@+]")
_WITH_DIGITS = (
    re.compile(r"(?<!\d)\d{2,3}[가-힣] ?(?:\d{0,4} ?)?\Z"),  # a plate
    re.compile(r"(?<!\d)\d{4} ?[년./-] ?\d{0,2} ?(?:[월./-] ?\d{0,2} ?일?)?\Z"),  # a date
    re.compile(rf"(?:{REGIONS}) ?-? ?\d{{1,2}}(?:-\d{{0,6}}(?:-\d{{0,2}})?)?\Z"),  # an old licence
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}[A-Z0-9 ]{0,38}\Z")
_OF_IBAN = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 "
_PEM = re.compile(r"-{1,5}[A-Z ]{0,60}-{0,5}\Z")
_DOMAIN = re.compile(
    r"[A-Za-z0-9\uff01-\uff1f\uff21-\uff5e._%+'-]{0,64}[@\uff20][A-Za-z0-9가-힣\uff01-\uff5e.-]{0,63}\Z"
)
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff0e\uff3f\uff0d]{1,64}\\Z")
_ANY = re.compile(r"\S{1,64}\Z")


def open_end(text: str, since: int, *, addresses: bool, any_word: bool) -> int:
    """The first such place at or after `since`, `len(text)` where nothing is open.

    `any_word`: the last word may become something whatever its letters.
    """
    last = text[-1:]
    places = [len(text)]
    if may_end_run(last):
        places.append(open_run(text, since))
    if last.isascii() and not last.isspace():
        places.append(_word(text, since))
    if "\uff0d" <= last <= "\uff5a":
        places.append(_place(_WIDE, text, since))
    if (last in ("-", " ") or "A" <= last <= "Z") and text.find("-", since) >= 0:
        places.append(_place(_PEM, text, since))
    if _DIGIT.search(text, since) is not None:
        places += _numbered(text, since, last)
    if text.find("@", since) >= 0 or text.find("\uff20", since) >= 0:
        places.append(_place(_DOMAIN, text, since))
    if addresses:
        places.append(_address(text, since, last))
    if any_word:
        places.append(_place(_ANY, text, since))
    return min(places)


def _numbered(text: str, since: int, last: str) -> Iterator[int]:
    """What has digits and is no run of them."""
    short = max(since, len(text) - _SHORT_CHARS)
    for pattern in _WITH_DIGITS:
        yield _place(pattern, text, short)
    if last in _OF_IBAN:
        yield _place(_IBAN, text, max(since, len(text.rstrip(_OF_IBAN))))


def _address(text: str, since: int, last: str) -> int:
    place = open_address(text, since)
    return min(place, open_name(text, since)) if "가" <= last <= "힣" else place


def _word(text: str, since: int) -> int:
    """The last word in ASCII, from its first letter or digit on."""
    word = _WORD.search(text, since)
    start = _WORD_START.search(text, word.start()) if word is not None else None
    return len(text) if start is None else start.start()


def _place(pattern: re.Pattern[str], text: str, since: int) -> int:
    found = pattern.search(text, since)
    return len(text) if found is None else found.start()
