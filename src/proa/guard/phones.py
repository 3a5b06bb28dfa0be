"""Phone numbers: Korean mobile and land lines by their plan, others by libphonenumber."""

import re
from collections.abc import Iterator

from proa.guard.finding import Finding
from proa.guard.runs import Run

_GAP = r"(?:[-. )]|\) )?"
_MOBILE = re.compile(
    r"(?<![\d-])(?<!\d\.)(?:82[-. ]?(?:\(0\) ?|0)?|0)"
    rf"1(?:0{_GAP}\d{{4}}|[16-9]{_GAP}\d{{3,4}})[-. ]?\d{{4}}(?!\d|-\d)"
)
_LAND = re.compile(
    r"(?<![\d-])(?<!\d\.)0(?:(?:2|3[1-3]|4[1-4]|5[1-5]|6[1-4]|70)"
    rf"{_GAP}\d{{3,4}}|50\d{_GAP}\d{{3,4}})[-. ]?\d{{4}}(?!\d|-\d)"
)
_KOREAN_LAND = re.compile(
    r"(?<![\d-])82[-. ]?(?:\(0\) ?)?(?:2|3[1-3]|4[1-4]|5[1-5]|6[1-4]|70)"
    rf"{_GAP}\d{{3,4}}[-. ]?\d{{4}}(?!\d|-\d)"
)
_WORDS = re.compile("전화|연락|휴대|핸드폰|폰|번호|문의|팩스|tel|phone|mobile|fax|call|hp")
_PLUS = "+\uff0b"
_OPENS = ("(", "\uff08")
_FOREIGN = re.compile(r"\d{1,3}[-. ()]*(?:\d[-. ()]{0,2}){6,14}")
_SHORTEST, _LONGEST = 8, 15


def phones(run: Run) -> Iterator[Finding]:
    """Mobile and other Korean numbers; bare land lines need a word before them."""
    norm = run.norm
    for found in _MOBILE.finditer(norm):
        is_abroad = found.group().startswith("82")
        is_parted = _is_parted(found.group())
        if is_abroad and not (_has_plus(run, found.start()) or is_parted):
            continue
        if not is_parted and run.is_in_word(*found.span()) and not _is_told(run, found):
            continue
        yield _finding("mobile_phone", run, found, 0.95 if is_parted else 0.85)
    for found in _LAND.finditer(norm):
        is_told = _is_told(run, found)
        if is_told or _is_parted(found.group()):
            yield _finding("phone", run, found, 0.9 if is_told else 0.75)
    if _has_plus(run, 0):
        found_abroad = _KOREAN_LAND.match(norm)
        if found_abroad is not None:
            yield _finding("phone", run, found_abroad, 0.9)


def _is_told(run: Run, found: re.Match[str]) -> bool:
    return _WORDS.search(run.before(found.start())) is not None


def foreign_phones(run: Run) -> Iterator[Finding]:
    """A number after `+` that the plan of its country knows; not Korea's."""
    if not _has_plus(run, 0) or run.norm.startswith("82"):
        return
    found = _FOREIGN.match(run.norm)
    if found is None:
        return
    written = found.group().rstrip("-. (")
    digits = re.sub(r"\D", "", written)
    if _SHORTEST <= len(digits) <= _LONGEST and _is_known(digits):
        start = run.at(0) - 1
        yield Finding("foreign_phone", start, run.end_of(len(written)), 0.9)


def _is_known(digits: str) -> bool:
    import phonenumbers  # 100 ms and 20 MB, for those who meet such a number

    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(f"+{digits}"))
    except phonenumbers.NumberParseException:
        return False


def _finding(type_: str, run: Run, found: re.Match[str], confidence: float) -> Finding:
    start = run.at(found.start())
    is_abroad = found.group().startswith("82") and _has_plus(run, found.start())
    if is_abroad or (")" in found.group() and run.text[start - 1 : start] in _OPENS):
        start -= 1
    return Finding(type_, start, run.end_of(found.end()), confidence)


def _has_plus(run: Run, index: int) -> bool:
    place = run.at(index)
    return place > 0 and run.text[place - 1] in _PLUS


def _is_parted(written: str) -> bool:
    return not written.isdigit()
