"""Finds personal data and secrets in a text: start here.

One pass finds runs of digits (`runs`), a few searches for a character tell which other families
can be in the text at all; each family then checks its own shapes. All of it takes linear time.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from proa.errors import FieldError
from proa.guard import accounts, addresses, companies, credentials, network, papers, phones
from proa.guard.detectors import Detector, DetectorSpec
from proa.guard.finding import Finding
from proa.guard.open_end import HELD_CHARS, open_end
from proa.guard.residents import residents
from proa.guard.runs import Run, runs, spoken_runs
from proa.guard.shape import Shape
from proa.guard.types import TYPES

_BEFORE_CHARS = 128
_BEHIND_CHARS = 1024
_LONG_WORD = re.compile(r"[!-~]{0,16384}")

OfRun = Callable[[Run], Iterator[Finding]]
OfText = Callable[[str], Iterator[Finding]]

# A family with the least characters that one of its numbers has in a run.
_RUN_FAMILIES: tuple[tuple[frozenset[str], OfRun, int], ...] = (
    (frozenset(("resident_number", "foreigner_number", "corporate_number")), residents, 13),
    (frozenset(("card",)), accounts.cards, 14),
    (frozenset(("driver_licence",)), papers.licences, 12),
    (frozenset(("business_number",)), companies.companies, 10),
    (frozenset(("mobile_phone", "phone")), phones.phones, 9),
    (frozenset(("foreign_phone",)), phones.foreign_phones, 8),
    (frozenset(("health_insurance", "military_number")), papers.numbered, 8),
    (frozenset(("bank_account",)), accounts.bank_accounts, 10),
)
# Families of codes: letters and digits side by side.
_CODE_FAMILIES: tuple[tuple[str, OfText], ...] = (
    ("passport", papers.passports),
    ("customs_code", papers.customs_codes),
    ("iban", accounts.ibans),
    ("api_key", credentials.api_keys),
    ("jwt", credentials.jwts),
    ("ci_di", papers.link_codes),
)
# What has Korean letters and digits in it.
_KOREAN_FAMILIES: tuple[tuple[str, OfText], ...] = (
    ("address", addresses.addresses),
    ("driver_licence", papers.old_licences),
)
# A character class comes first, so that `re` looks for it without trying the rest everywhere.
_WORDS = re.compile("[비패암pP생출bBdD][밀번스호aAwW년일생iIoO]")  # of passwords and births


class Scanner:
    """Finds the `types` asked for (None: all) and those of the user's `detectors`.

    With `private_addresses` IP addresses of private networks count, too.

    Raises:
        FieldError: a type that there is not, or a detector that cannot be used.
    """

    def __init__(
        self,
        types: frozenset[str] | None = None,
        detectors: Sequence[DetectorSpec] = (),
        *,
        private_addresses: bool = True,
    ) -> None:
        self._detectors = tuple(Detector(spec) for spec in detectors)
        wanted = TYPES if types is None else types
        for name in wanted - TYPES - {detector.name for detector in self._detectors}:
            raise FieldError("types", name, f"one of {', '.join(sorted(TYPES))}")
        self._wanted = wanted
        self._private = private_addresses
        self._of_runs = [(find, least) for of, find, least in _RUN_FAMILIES if of & wanted]
        self._of_codes = [find for type_, find in _CODE_FAMILIES if type_ in wanted]
        self._of_korean = [find for type_, find in _KOREAN_FAMILIES if type_ in wanted]

    def scan(self, text: str) -> list[Finding]:
        """The findings in their order; of those that overlap the surest, then the longest."""
        found = list(self._short(text))
        found += self._private_keys(text)
        return self._resolved(found)

    def _resolved(self, candidates: Iterable[Finding]) -> list[Finding]:
        found = list(candidates)
        if self._wanted is not TYPES:
            names = {detector.name for detector in self._detectors}
            found = [one for one in found if one.type in self._wanted or one.type in names]
        return found if len(found) < 2 else _without_overlaps(found)

    def _private_keys(self, text: str) -> list[Finding]:
        if "private_key" not in self._wanted or "-----BEGIN " not in text:
            return []
        return list(credentials.private_keys(text))

    def _short(self, text: str) -> Iterator[Finding]:
        """All candidates but private keys."""
        wanted = self._wanted
        if "email" in wanted and ("@" in text or "\uff20" in text):
            yield from network.emails(text)
        has_word = _WORDS.search(text) is not None
        if has_word and "password" in wanted:
            yield from credentials.passwords(text)
        if has_word and "birth_date" in wanted:
            yield from papers.birth_dates(text)
        shape = Shape(text)
        if shape.has_digit:
            yield from self._with_digits(text, shape)
        for run in spoken_runs(text):
            yield from phones.phones(run)
        if shape.has_parts and "ip_address" in wanted:
            yield from network.ip_addresses(text, private=self._private)
        for detector in self._detectors:
            yield from detector.find(text)

    def _with_digits(self, text: str, shape: Shape) -> Iterator[Finding]:
        for run in runs(text) if shape.has_run else ():
            length = len(run.norm)
            for of_run, least in self._of_runs:
                if length >= least:
                    yield from of_run(run)
        if shape.has_code:
            for of_code in self._of_codes:
                yield from of_code(text)
        if not text.isascii():
            for of_korean in self._of_korean:
                yield from of_korean(text)
            if shape.has_plate and "vehicle_plate" in self._wanted:
                yield from papers.plates(text)

    def scan_slices(self, text: str, chars: int) -> Iterator[list[Finding] | None]:
        """The same in pieces of about `chars` characters, with None between them.

        Private keys, which are long, are found first: that is a byte search.
        """
        start = 0
        for key in self._private_keys(text):
            yield from self._slices(text, start, key.start, chars)
            yield [key]
            start = key.end
        yield from self._slices(text, start, len(text), chars)

    def _slices(
        self, text: str, start: int, stop: int, chars: int
    ) -> Iterator[list[Finding] | None]:
        while start < stop:
            end = min(stop, start + chars)
            if end < stop:
                since = max(start, end - HELD_CHARS)
                end = max(start + 1, since + self.may_begin(text[since:end]))
            found = self._piece(text, start, end, stop)
            yield found
            start = max(end, found[-1].end if found else 0)
            if start < stop:
                yield None

    def _piece(self, text: str, start: int, end: int, stop: int) -> list[Finding]:
        """Findings that begin in a piece, wherever they end."""
        first = max(0, start - _BEFORE_CHARS)
        word = _LONG_WORD.match(text, min(stop, end + _BEHIND_CHARS), stop)
        last = word.end() if word is not None else stop
        return [
            Finding(one.type, one.start + first, one.end + first, one.confidence)
            for one in self._resolved(self._short(text[first:last]))
            if start <= one.start + first < end
        ]

    def may_begin(self, text: str) -> int:
        """Where a candidate begins that the end of `text` leaves open; `len(text)` for none.

        At most `HELD_CHARS` back. A text of Korean words alone leaves nothing open.
        """
        since = max(0, len(text) - HELD_CHARS)
        any_word = bool(self._detectors)
        return open_end(text, since, addresses="address" in self._wanted, any_word=any_word)


def _without_overlaps(found: list[Finding]) -> list[Finding]:
    """In their order; of a chain of findings that overlap the surest, then the longest stay."""
    kept: list[Finding] = []
    chain: list[Finding] = []
    end = 0
    for one in sorted(found, key=lambda f: f.start):
        if one.start >= end:
            kept += _of_chain(chain)
            chain = []
        chain.append(one)
        end = max(end, one.end)
    return kept + _of_chain(chain)


def _of_chain(chain: list[Finding]) -> list[Finding]:
    if len(chain) < 2:
        return chain
    kept: list[Finding] = []
    for one in sorted(chain, key=lambda f: (-f.confidence, f.start - f.end, f.start)):
        place = bisect_left(kept, one.start, key=lambda f: f.start)
        if place < len(kept) and kept[place].start < one.end:
            continue
        if not place or kept[place - 1].end <= one.start:
            kept.insert(place, one)
    return kept
