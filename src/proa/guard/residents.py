"""Resident, foreigner and corporate registration numbers: thirteen digits that look alike.

Source: the shape and the rule of the check digit as published by the Ministry of the Interior;
since 5 October 2020 the six digits behind the first of the second half are random, so a wrong
check digit says nothing, and a right one only makes it likelier.
"""

import re
from collections.abc import Iterator

from proa.guard import checksums
from proa.guard.finding import Finding
from proa.guard.runs import Run

_SHAPE = re.compile(r"(?<!\d)(\d{6})([- .]?)(\d{7})(?!\d)")
_PERSON = re.compile("주민|외국인|거소|생년|resident|foreigner|alien|rrn|ssn|arc|national id")
_COMPANY = re.compile("법인|등기|corporat|company reg")
_FOREIGNER = "5678"
_LONG_DEAD = "90"  # born before 1900; the serial numbers of companies begin with 0
_OTHERS = re.compile(
    r"바코드|주문|송장|운송|접수|barcode|ean|order|invoice|tracking|timestamp|(?<![a-z])ts(?![a-z])"
)
_GOODS = "880"  # what the articles of Korean makers are numbered with
_TIME = re.compile("1[5-9]")  # the milliseconds of the years 2017 to 2033
_OLDEST_BORN = 1920  # who is older is likelier a company of the court's series 11xx11


def residents(run: Run) -> Iterator[Finding]:
    """The numbers of these three kinds in a run."""
    for found in _SHAPE.finditer(run.norm):
        digits = found[1] + found[3]
        words = run.before(found.start())
        if not found[2] and not _PERSON.search(words) and run.is_in_word(*found.span()):
            continue
        kind = _kind(digits, found[2], words)
        if kind is not None:
            type_, confidence = kind
            yield Finding(type_, run.at(found.start()), run.end_of(found.end()), confidence)


def _kind(digits: str, separator: str, words: str) -> tuple[str, float] | None:
    year = checksums.born(digits)
    is_person = year is not None
    is_company = checksums.corporate(digits)
    if _COMPANY.search(words) and not _PERSON.search(words):
        if is_company and (separator or not _is_other(digits, words)):
            return "corporate_number", 0.95
        return ("corporate_number", 0.6) if separator else None
    if not is_person:
        return ("corporate_number", 0.5) if is_company and separator == "-" else None
    is_foreigner = digits[6] in _FOREIGNER
    type_ = "foreigner_number" if is_foreigner else "resident_number"
    check = checksums.foreigner if is_foreigner else checksums.resident
    is_right = check(digits)
    if _PERSON.search(words):
        return type_, 0.99 if is_right else 0.95
    is_old = (year or 0) < _OLDEST_BORN
    if separator and is_company and is_old and (not is_right or digits[6] in _LONG_DEAD):
        return "corporate_number", 0.7
    if separator in ("-", " "):
        return type_, 0.95 if is_right else 0.85
    if separator == ".":
        return None
    if not is_right or _is_other(digits, words):  # thirteen bare digits
        return None
    return type_, 0.65


def _is_other(digits: str, words: str) -> bool:
    """Whether bare digits are likelier an article's, a time's or an order's."""
    is_article = digits.startswith(_GOODS) and checksums.article(digits)
    return is_article or _TIME.match(digits) is not None or _OTHERS.search(words) is not None
