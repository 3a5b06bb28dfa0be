"""Postal addresses: a province or city, what lies in it, a road or a lot, and its number."""

import re
from collections.abc import Iterator

from proa.guard.finding import Finding

_SHORT = "서울|부산|대구|인천|광주|대전|울산|세종|경기|강원|충북|충남|전북|전남|경북|경남|제주"
_LONG = "충청북|충청남|전라북|전라남|경상북|경상남"
_PROVINCE = rf"(?:(?:{_SHORT})(?:특별자치시|특별자치도|특별시|광역시|시|도)?|(?:{_LONG})도)"
_WITHIN = r"(?: [가-힣]{1,8}(?:시|군|구|읍|면))"
_ROAD = (
    r" ?[가-힣0-9·.]{0,12}(?:[가-힣](?:대로|로|길)|[가-힣]\d{1,3}길)"
    r"(?: ?\d{1,4}(?:번|번나|번가)?길)?"
)
_NUMBER = r" ?\d{1,4}(?:-\d{1,4})?"
_LOT = r"(?: [가-힣][가-힣0-9]{0,7}(?:동|리|가)) (?:산 ?)?\d{1,4}(?:-\d{1,4})?(?:번지)?"
_INSIDE = (
    r"(?:,? ?(?:\d{1,4}동 ?\d{1,5}호|\d{1,4}동(?![가-힣])|\d{1,3}층|\d{1,5}호))*"
    r"(?: ?\([가-힣0-9, ]{2,30}\))?"
)
_STREET = rf"(?: {_ROAD.removeprefix(' ?')}){_NUMBER}(?!\d|[가-힣]길|가 ?\d)"
_ADDRESS = re.compile(rf"(?<![가-힣]){_PROVINCE}{_WITHIN}{{0,3}}(?:{_STREET}|{_LOT}){_INSIDE}")
_HINT = re.compile("[서부대인광울세경강충전제][울산구천주전종기원북남청라상]")
_NUMBERED = re.compile(r"[로길동리가](?<=[가-힣0-9].) ?(?:산 ?)?\d")
_OPEN = re.compile(
    rf"(?<![가-힣]){_PROVINCE}{_WITHIN}{{0,3}}"
    r"(?: [가-힣0-9·.-]{0,14}(?: ?\d{0,4}(?:번|번길|길)?)?"
    r"(?: ?[\d-]{0,9}(?:번지?)?)?(?:,? ?\d{0,5}[동층호]?){0,3}(?: ?\([가-힣0-9, ]{0,30})?)?\Z"
)
_NAMES = [
    short + rest
    for short in _SHORT.split("|")
    for rest in ("특별자치시", "특별자치도", "특별시", "광역시", "도")
] + [f"{long}도" for long in _LONG.split("|")]
_NAME_BEGINS = frozenset(name[:end] for name in _NAMES for end in range(1, len(name)))
_NAME_MAX_CHARS = max(map(len, _NAME_BEGINS))
_LAST_NAME = re.compile(rf"(?<![가-힣])[가-힣]{{1,{_NAME_MAX_CHARS}}}\Z")


def addresses(text: str) -> Iterator[Finding]:
    """Road and lot addresses; a city and a post code alone are none."""
    if _NUMBERED.search(text) is None:
        return
    end = 0
    for hint in _HINT.finditer(text):
        if hint.start() < end:
            continue
        found = _ADDRESS.match(text, hint.start())
        if found is not None:
            end = found.end()
            yield Finding("address", found.start(), end, 0.9)


def open_address(text: str, since: int) -> int:
    """Where an address begins that the end of the text may go on with; else its length."""
    for hint in _HINT.finditer(text, since):
        if _OPEN.match(text, hint.start()):
            return hint.start()
    return len(text)


def open_name(text: str, since: int) -> int:
    """Where the beginning of a province's or a city's name stands at the end of the text."""
    found = _LAST_NAME.search(text, max(since, len(text) - _NAME_MAX_CHARS))
    return found.start() if found is not None and found.group() in _NAME_BEGINS else len(text)
