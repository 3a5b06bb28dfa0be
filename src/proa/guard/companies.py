"""Business registration numbers: public for companies, personal for a sole proprietor."""

import re
from collections.abc import Iterator

from proa.guard import checksums
from proa.guard.finding import Finding
from proa.guard.runs import Run

_SHAPE = re.compile(r"(?<![\d-])(\d{3})([- ]?)(\d{2})\2(\d{5})(?!\d|-\d)")
_WORDS = re.compile("사업자|business reg|brn")


def companies(run: Run) -> Iterator[Finding]:
    """With hyphens the check digit has to be right; without them a word is needed as well.

    Else one in ten Unix times would be a business number.
    """
    for found in _SHAPE.finditer(run.norm):
        digits = found[1] + found[3] + found[4]
        is_told = _WORDS.search(run.before(found.start())) is not None
        is_right = checksums.business(digits)
        if is_right and (found[2] == "-" or is_told):
            confidence = 0.97 if is_told else 0.85
        elif found[2] == "-" and is_told:
            confidence = 0.6
        else:
            continue
        start, end = run.at(found.start()), run.end_of(found.end())
        yield Finding("business_number", start, end, confidence)
