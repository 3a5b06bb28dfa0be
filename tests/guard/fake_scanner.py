"""A small scanner for tests of the walk and the streams: three shapes, nothing else."""

import re
from collections.abc import Iterator

from proa.guard.finding import Finding

_SHAPES = re.compile(
    r"(?P<resident_number>(?<!\d)(?:\d{6}-\d{7}|9001\d{9})(?!\d))"
    r"|(?P<mobile_phone>(?<!\d)010-?\d{4}-?\d{4}(?!\d))"
    r"|(?P<email>[a-z0-9.]{1,20}@[a-z0-9]{1,20}\.[a-z]{2,5}(?![a-z0-9@.-]))"
)
_OPEN = re.compile(r"(?:(?<!\d)[0-9-]{1,14}|(?<![a-z0-9.])[a-z0-9.]{1,20}(?:@[a-z0-9.]{0,26})?)$")


class FakeScanner:
    """What a longer run of digits may become is open, and so is a word in Latin letters."""

    def scan(self, text: str) -> list[Finding]:
        return [
            Finding(found.lastgroup or "", found.start(), found.end(), 1.0)
            for found in _SHAPES.finditer(text)
        ]

    def scan_slices(self, text: str, chars: int) -> Iterator[list[Finding] | None]:
        for _ in range(len(text) // chars):
            yield None
        yield self.scan(text)

    def may_begin(self, text: str) -> int:
        found = _OPEN.search(text, max(0, len(text) - 64))
        return found.start() if found else len(text)
