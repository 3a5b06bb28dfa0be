"""Phone numbers: Korean mobile and land lines by their plan, others by libphonenumber."""

import re
from collections.abc import Iterator
from functools import cache

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
_KINDS = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number",
    "voip", "pager", "uan", "voicemail",
)  # fmt: skip


def phones(run: Run) -> Iterator[Finding]:
    """Mobile and other Korean numbers; bare land lines need a word before them."""
    norm = run.norm
    for found in _MOBILE.finditer(norm):
        is_abroad = found.group().startswith("82")
        is_parted = _is_parted(found.group())
        if is_abroad and found.group()[2].isdigit() and not _has_plus(run, found.start()):
            continue
        if not is_parted and run.is_in_word(*found.span()) and not _is_told(run, found):
            continue
        yield _finding("mobile_phone", run, found, 0.95 if is_parted else 0.85)
    for found in _LAND.finditer(norm):
        is_told = _is_told(run, found)
        is_parted = _is_parted(found.group()) and not run.is_in_word(*found.span())
        if is_told or is_parted:
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
    for length in (1, 2, 3):
        plan = _plan(digits[:length])
        if plan is not None:
            return plan.fullmatch(digits, length) is not None
    return False


@cache
def _plan(code: str) -> re.Pattern[str] | None:
    """All numbers behind a country's code, as libphonenumber knows them; None for no code.

    Asking the library for each number takes 80 µs, and a text may be full of them.
    """
    import phonenumbers  # 100 ms and 20 MB, for those who meet such a number

    patterns: set[str] = set()
    for region in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(int(code), ()):
        known = (
            phonenumbers.PhoneMetadata.metadata_for_nongeo_region(int(code))
            if region == phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY
            else phonenumbers.PhoneMetadata.metadata_for_region(region)
        )
        kinds = (getattr(known, kind, None) for kind in _KINDS)
        patterns.update(kind.national_number_pattern for kind in kinds if kind is not None)
    patterns.discard(None)
    return re.compile("|".join(sorted(patterns))) if patterns else None


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
