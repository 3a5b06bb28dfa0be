"""What the walk and the streams need from whoever finds personal data in a text."""

from collections.abc import Iterator
from typing import Protocol

from proa.guard.finding import Finding


class TextScanner(Protocol):
    """`proa.guard.scan.Scanner` is the one in use."""

    def scan(self, text: str) -> list[Finding]:
        """The findings in their order; none overlaps another."""
        ...

    def scan_slices(self, text: str, chars: int) -> Iterator[list[Finding] | None]:
        """The same in pieces of work of about `chars` characters, None between them."""
        ...

    def may_begin(self, text: str) -> int:
        """Where a candidate begins that the end of `text` leaves open; `len(text)` for none."""
        ...
