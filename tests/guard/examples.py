"""How an example is looked at: what is found in a text, and that a stream of it has the same."""

from proa.guard.finding import Finding
from proa.guard.open_end import HELD_CHARS
from proa.guard.scan import Scanner

SCANNER = Scanner()


def found(text: str) -> list[tuple[str, str]]:
    """Type and what is written, of each finding; the same letter by letter as in one piece.

    Of a stream no more than `HELD_CHARS` are held, so what is longer is left out there.
    """
    whole = SCANNER.scan(text)
    if all(one.end - one.start < HELD_CHARS for one in whole):
        assert letter_by_letter(text) == whole
    return [(one.type, text[one.start : one.end]) for one in whole]


def letter_by_letter(text: str) -> list[Finding]:
    """What is found by one who lets go all that is not open, as soon as it is not."""
    kept: list[Finding] = []
    settled = 0
    for end in range(1, len(text) + 1):
        seen = SCANNER.scan(text[:end])
        until = end if end == len(text) else max(settled, SCANNER.may_begin(text[:end]))
        until = next((one.start for one in seen if one.start < until < one.end), until)
        kept += [one for one in seen if settled <= one.start and one.end <= until]
        settled = max(settled, until)
    return kept
