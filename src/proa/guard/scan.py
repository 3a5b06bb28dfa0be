"""Finds personal data and secrets in a text: start here.

One pass finds runs of digits (`runs`), a few byte searches tell which other families can be
in the text at all; each family then checks its own shapes. Everything takes linear time.
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
from proa.guard.runs import LEAST_DIGITS, Run, runs, spoken_runs
from proa.guard.types import TYPES

_BEFORE_CHARS = 128
_BEHIND_CHARS = 1024
_LONG_WORD = re.compile(r"[!-~]{0,16384}")

OfRun = Callable[[Run], Iterator[Finding]]
OfZone = Callable[[str, int, int], Iterator[Finding]]

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
# Families of a zone: a part of the text without Korean letters.
_ZONE_FAMILIES: tuple[tuple[frozenset[str], OfZone], ...] = (
    (frozenset(("passport",)), papers.passports),
    (frozenset(("customs_code",)), papers.customs_codes),
    (frozenset(("iban",)), accounts.ibans),
    (frozenset(("api_key",)), credentials.api_keys),
    (frozenset(("jwt",)), credentials.jwts),
    (frozenset(("ci_di",)), papers.link_codes),
)
_ZONE = re.compile(f"[^가-힣]{{{LEAST_DIGITS},}}")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[A-Za-z]")
_PARTED = re.compile(r"[.:][0-9A-Fa-f]{0,4}[.:]")
_PLATE = re.compile(r"\d[가-힣] ?\d{4}")
_SECRET = re.compile(r"[비패암Pp][밀번스호aAwW]")
_BIRTH = re.compile(r"[생출bBdD][년일생iIoO]")


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
        self._of_zones = [find for of, find in _ZONE_FAMILIES if of & wanted]

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
        if "@" in text and "email" in wanted:
            yield from network.emails(text)
        if "password" in wanted and _SECRET.search(text) is not None:
            yield from credentials.passwords(text)
        for zone in _ZONE.finditer(text):
            yield from self._in_zone(text, *zone.span())
        for run in spoken_runs(text):
            yield from phones.phones(run)
        if _DIGIT.search(text) is not None:
            yield from self._with_korean(text)
        for detector in self._detectors:
            yield from detector.find(text)

    def _in_zone(self, text: str, start: int, end: int) -> Iterator[Finding]:
        """What stands in a part of the text that has no Korean letters."""
        if _LETTER.search(text, start, end) is not None:
            for of_zone in self._of_zones:
                yield from of_zone(text, start, end)
        if "ip_address" in self._wanted and _PARTED.search(text, start, end) is not None:
            yield from network.ip_addresses(text, start, end, private=self._private)
        for run in runs(text, start, end):
            length = len(run.norm)
            for of_run, least in self._of_runs:
                if length >= least:
                    yield from of_run(run)

    def _with_korean(self, text: str) -> Iterator[Finding]:
        """What has Korean letters in it."""
        wanted = self._wanted
        if "address" in wanted:
            yield from addresses.addresses(text)
        if "birth_date" in wanted and _BIRTH.search(text) is not None:
            yield from papers.birth_dates(text)
        if "driver_licence" in wanted:
            yield from papers.old_licences(text)
        if "vehicle_plate" in wanted and _PLATE.search(text) is not None:
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
