"""Cards by prefix and Luhn, bank accounts by the words before them, IBAN by its check digits."""

import re
from collections.abc import Iterator

from proa.guard import checksums
from proa.guard.finding import Finding
from proa.guard.runs import Run

_CARD = re.compile(
    r"(?<![\d-])(?<!\d\.)(?:\d{4}([- .]?)\d{4}\1\d{4}\1\d{4}|\d{4}([- ]?)\d{6}\2\d{4,5})(?!\d|-\d)"
)
_ISSUERS = re.compile(
    r"4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|3[47]|30[0-5]|36|3[89]|35|6011|62|64[4-9]|65|60|81|9"
)
_CARD_WORDS = re.compile("카드|card|visa|master|amex|신용|체크|결제")
_ORDER_WORDS = re.compile(
    "주문|송장|운송|접수|일련|order|tracking|invoice|serial|transaction|거래번호"
)
_ACCOUNT = re.compile(r"(?<![\d-])\d{2,6}(?:-\d{1,8}){1,4}(?!\d|-\d)|(?<![\d-])\d{10,14}(?![\d-])")
_ACCOUNT_WORDS = re.compile(
    "계좌|입금|송금|이체|예금주|환불 ?받|account|국민은행|신한은행|우리은행|하나은행|농협|기업은행"
    "|카카오뱅크|토스뱅크|케이뱅크|새마을금고|우체국|수협|신협|부산은행|대구은행|광주은행|제일은행|산업은행"
    "|kb국민|은행"
)
_AT_ONCE = re.compile(
    r"[계a신국우하농기카토케]"
    r"(?:(?P<spaced>(?:(?<=계)좌|(?<=a)ccount)(?: ?번호| no\.?| number)?[은는]?)"
    r"|(?:(?<=신)한|(?<=국)민|(?<=우)리|(?<=하)나|(?<=농)협|(?<=기)업|(?<=카)뱅|(?<=카)카오"
    r"|(?<=토)스|(?<=케)뱅)(?:은행|뱅크)?[은는]?)[ |,:(=\t]{0,5}\Z"
)
_AT_ONCE_CHARS = 18
_SPACED = re.compile(r"\d{2,6}(?: \d{1,8}){1,4}(?! ?\d|-\d)")
_SHORT_CONTEXT = 30
_LABEL_CHARS = 12
_IBAN = re.compile(
    r"[A-Z](?<![A-Za-z0-9].)[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])",
    re.ASCII,
)


def cards(run: Run) -> Iterator[Finding]:
    """Fifteen or sixteen digits, or fourteen of Diners, of a known issuer and with Luhn's digit."""
    for found in _CARD.finditer(run.norm):
        digits = re.sub(r"\D", "", found.group())
        if not _ISSUERS.match(digits) or not checksums.luhn(digits):
            continue
        if not _fits(digits):
            continue
        words = run.before(found.start())
        is_told = _CARD_WORDS.search(words) is not None
        is_parted = bool(found[1] or found[2])
        if not is_told and _is_order(words, digits, is_parted=is_parted):
            continue
        confidence = 0.98 if is_told else 0.9 if is_parted else 0.7
        yield Finding("card", run.at(found.start()), run.end_of(found.end()), confidence)


def _is_order(words: str, digits: str, *, is_parted: bool) -> bool:
    """Whether it is likelier some number of an order: bare digits are it sooner than groups."""
    if is_parted:
        return _ORDER_WORDS.search(words[-_LABEL_CHARS:]) is not None
    return digits[0] == "9" or _ORDER_WORDS.search(words) is not None


def _fits(digits: str) -> bool:
    """The length that the issuer's cards have."""
    if digits[:2] in ("34", "37"):
        return len(digits) == 15
    if digits[:2] in ("36", "38", "39") or "300" <= digits[:3] <= "305":
        return len(digits) in (14, 16)
    return len(digits) == 16


def bank_accounts(run: Run) -> Iterator[Finding]:
    """Ten to fourteen digits in groups, or bare, shortly after a word of banking."""
    yield from _named_accounts(run)
    if not _ACCOUNT_WORDS.search(run.before(len(run.norm) - 1, _SHORT_CONTEXT + len(run.norm))):
        return
    for found in _ACCOUNT.finditer(run.norm):
        count = sum(map(str.isdigit, found.group()))
        if not 10 <= count <= 14:
            continue
        words = run.before(found.start())[-_SHORT_CONTEXT:]
        if _ACCOUNT_WORDS.search(words):
            yield Finding("bank_account", run.at(found.start()), run.end_of(found.end()), 0.7)


def _named_accounts(run: Run) -> Iterator[Finding]:
    """Groups right behind a bank's short name, or with spaces right behind the word for it."""
    said = _AT_ONCE.search(run.before(0, _AT_ONCE_CHARS))
    if said is None:
        return
    found = (_SPACED if said["spaced"] else _ACCOUNT).match(run.norm)
    if found is None or found.group().isdigit():
        return
    if 10 <= sum(map(str.isdigit, found.group())) <= 14:
        yield Finding("bank_account", run.at(0), run.end_of(found.end()), 0.7)


def ibans(text: str) -> Iterator[Finding]:
    """Country, check digits, and up to thirty characters more, with or without spaces."""
    for found in _IBAN.finditer(text):
        written = found.group()
        while len(written) >= 15:  # words in capitals may follow
            plain = written.replace(" ", "")
            if len(plain) <= 34 and checksums.iban(plain):
                yield Finding("iban", found.start(), found.start() + len(written), 0.97)
                break
            cut = written.rfind(" ")
            if cut < 0:
                break
            written = written[:cut]
