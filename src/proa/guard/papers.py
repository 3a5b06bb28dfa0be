"""Passports, licences, customs codes, numbers of insurance and service, plates, birth dates."""

import re
from collections.abc import Iterator
from datetime import date

from proa.guard.finding import Finding
from proa.guard.runs import CONTEXT_CHARS, Run, before

REGIONS = "서울|부산|경기|강원|충북|충남|전북|전남|경북|경남|제주|대구|인천|광주|대전|울산|세종"
_LICENCE = re.compile(r"(?<![\d-])(1[1-9]|2[0-68])([- ]?)\d{2}\2\d{6}\2\d{2}(?!\d|-\d)")
_OLD_LICENCE = re.compile(r"\d{2}-\d{6}-\d{2}(?!\d|-\d)")
_OLD_DIGITS = re.compile(r"\d-\d{6}-\d")
_REGION = re.compile(rf"(?:{REGIONS})(?: ?-? ?)\Z")
_LICENCE_WORDS = re.compile("면허|licen[cs]e|driver")
_PASSPORT = re.compile(
    r"[MSRGDmsrgd](?<![A-Za-z0-9].)(?:\d{3}[A-Za-z]\d{4}|\d{8})(?![A-Za-z0-9])", re.ASCII
)
_PASSPORT_WORDS = re.compile("여권|[pP](?:assport|ASSPORT)")
_OLDEST_PASSPORT = re.compile(r"[A-Z](?<![A-Za-z0-9].)[A-Z]\d{7}(?![A-Za-z0-9])", re.ASCII)
_CUSTOMS = re.compile(r"[Pp](?<![A-Za-z0-9].)\d{12}(?![A-Za-z0-9])", re.ASCII)
_INSURANCE = re.compile(r"(?<![\d-])\d-?\d{10}(?!\d|-\d)")
_INSURANCE_WORDS = re.compile("건강보험|보험증|health insurance")
_MILITARY = re.compile(r"(?<![\d-])\d{2}-\d{5,8}(?!\d|-\d)")
_MILITARY_WORDS = re.compile("군번|military (?:no|num|id)|service number")
_PLATE = re.compile(
    r"[0-9０-９](?<!\d.)(?<!\d[.,].)\d{1,2}(?P<use>[가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주바사아자배하허호])"
    r"(?P<gap> ?)\d{4}(?![\d%]|[.,:-]\d)"
)
_PLATE_WORDS = re.compile("차량|차 ?번호|번호판|자동차|주차|vehicle|plate")
_PLATE_REGION = re.compile(rf"(?<![가-힣])(?:{REGIONS}) ?\Z")
_AMOUNT = re.compile(r" ?[억만천원명개건년월일시분초회배층호동]")
_LINK_CODE = re.compile("[A-Za-z0-9+/]{62,}+={0,2}+")
_DI_WORDS = re.compile(r"(?<![a-z])di(?![a-z])|중복가입|연계정보|duplication")
_BIRTH = re.compile(
    r"(?<!\d)(?:(19\d\d|20\d\d)(?: ?[-./년] ?)(\d{1,2})(?: ?[-./월] ?)(\d{1,2})(?: ?일)?(?!\d)"
    r"|(19\d\d|20\d\d)(\d{2})(\d{2})(?!\d)|(\d{2})(\d{2})(\d{2})(?![\d-])"
    r"|(?<!\d[-./])(\d{2}) ?[-./] ?(\d{1,2}) ?[-./] ?(\d{1,2})(?!\d|[-./]\d)"
    r"|(?<!\d[-./])(\d{1,2})[-./](\d{1,2})[-./](19\d\d|20\d\d)(?!\d))"
)
_BIRTH_WORDS = re.compile(
    "[생출bBdD](?:년월일|일|생|[iI][rR][tT][hH]|[oO](?:[rR][nN]|(?<=[dD].)[bB]))"
)
_DATE_MAX_CHARS = 24


def licences(run: Run) -> Iterator[Finding]:
    """Twelve digits of a region; without separators a region is no proof: that needs a word."""
    for found in _LICENCE.finditer(run.norm):
        is_told = _LICENCE_WORDS.search(run.before(found.start())) is not None
        if found[2] == "-" or is_told:
            start, end = run.at(found.start()), run.end_of(found.end())
            yield Finding("driver_licence", start, end, 0.95 if is_told else 0.8)


def numbered(run: Run) -> Iterator[Finding]:
    """Numbers that only a word before them tells: health insurance, military service."""
    for found in _INSURANCE.finditer(run.norm):
        if _INSURANCE_WORDS.search(run.before(found.start())):
            start, end = run.at(found.start()), run.end_of(found.end())
            yield Finding("health_insurance", start, end, 0.9)
    for found in _MILITARY.finditer(run.norm):
        if _MILITARY_WORDS.search(run.before(found.start())):
            start, end = run.at(found.start()), run.end_of(found.end())
            yield Finding("military_number", start, end, 0.9)


def passports(text: str) -> Iterator[Finding]:
    """A letter, three digits, a letter, four digits; the old forms need a word."""
    for found in _PASSPORT.finditer(text):
        is_told = _PASSPORT_WORDS.search(before(text, found.start())) is not None
        is_new = not found.group()[4].isdigit()
        if is_told or (is_new and found.group().isupper()):
            yield Finding("passport", found.start(), found.end(), 0.97 if is_told else 0.7)
    for word in _PASSPORT_WORDS.finditer(text):
        oldest = _OLDEST_PASSPORT.search(text, word.end(), word.end() + CONTEXT_CHARS)
        if oldest is not None:
            yield Finding("passport", oldest.start(), oldest.end(), 0.9)


def customs_codes(text: str) -> Iterator[Finding]:
    """P and twelve digits."""
    for found in _CUSTOMS.finditer(text):
        yield Finding("customs_code", found.start(), found.end(), 0.9)


def old_licences(text: str) -> Iterator[Finding]:
    """A region's name in place of its number: 서울 12-345678-90."""
    if text.count("-") < 2:
        return
    for digits in _OLD_DIGITS.finditer(text):
        start = digits.start() - 1
        region = _REGION.search(text, max(0, start - 5), start)
        found = _OLD_LICENCE.match(text, start) if region is not None else None
        if region is not None and found is not None:
            yield Finding("driver_licence", region.start(), found.end(), 0.9)


def plates(text: str) -> Iterator[Finding]:
    """`12가 3456`; with a space a word has to tell it, as `10조 5000` has the same shape."""
    for found in _PLATE.finditer(text):  # a class of digits comes first: `re` looks for it alone
        words = before(text, found.start())
        is_told = bool(_PLATE_WORDS.search(words) or _PLATE_REGION.search(words))
        is_amount = found["use"] == "조" and _AMOUNT.match(text, found.end()) is not None
        if is_told or not (found["gap"] or is_amount):
            yield Finding("vehicle_plate", found.start(), found.end(), 0.9 if is_told else 0.7)


def link_codes(text: str) -> Iterator[Finding]:
    """CI (88 characters of Base64) and, with a word, DI (64 to 66)."""
    for found in _LINK_CODE.finditer(text):
        length = len(found.group())
        if length == 88 and found.group().endswith("=="):
            yield Finding("ci_di", found.start(), found.end(), 0.8)
        elif 64 <= length <= 66 and _DI_WORDS.search(before(text, found.start())):
            yield Finding("ci_di", found.start(), found.end(), 0.9)


def birth_dates(text: str) -> Iterator[Finding]:
    """A date shortly after a word for birth."""
    behind = 0
    for word in _BIRTH_WORDS.finditer(text):
        last = word.end() + CONTEXT_CHARS
        for found in _BIRTH.finditer(text, max(behind, word.end()), last + _DATE_MAX_CHARS):
            if found.start() < last and _is_date(found):
                behind = found.end()
                yield Finding("birth_date", found.start(), found.end(), 0.9)


def _is_date(found: re.Match[str]) -> bool:
    first, second, third = (int(part) for part in found.groups() if part is not None)
    if third > 31:  # 01/02/1990, of which either may be the month
        return _is_day(third, first, second) or _is_day(third, second, first)
    return _is_day(first if first > 99 else 2000 + first, second, third)


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
