"""Types of the user's own: a pattern in linear time, a check rule, words that stand before."""

import msgspec
import re2

from proa.errors import FieldError
from proa.guard.checksums import CHECKS, LENGTHS
from proa.guard.finding import Finding
from proa.guard.runs import before
from proa.guard.types import TYPES

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_NAME = re2.compile(r"[a-z][a-z0-9_]{0,40}")
_MOST_CHARS = 1000
_ONLY_DIGITS = str.maketrans("", "", "- .")


class DetectorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`pattern` is RE2's; `checksum` names a rule of `CHECKS` for the digits of what it matches.

    With `context` one of these words has to stand within 40 characters before it. `label` is
    what a token is called; `mode` is what is done, None for the general mode.
    """

    name: str
    pattern: str
    checksum: str | None = None
    context: tuple[str, ...] = ()
    label: str | None = None
    mode: str | None = None


class Detector:
    """A spec that can be used.

    Raises:
        FieldError: with the field of the spec that cannot be used.
    """

    def __init__(self, spec: DetectorSpec) -> None:
        if not _NAME.fullmatch(spec.name) or spec.name in TYPES:
            accepted = "a name in small letters, digits and _ that no type has already"
            raise FieldError("name", spec.name, accepted)
        if spec.checksum is not None and spec.checksum not in CHECKS:
            raise FieldError("checksum", spec.checksum, f"one of {', '.join(CHECKS)}")
        self.name = spec.name
        self._pattern = linear_pattern(spec.pattern)
        self._words = tuple(word.lower() for word in spec.context)
        self._checksum = spec.checksum

    def find(self, text: str) -> list[Finding]:
        """All that the pattern, the rule and the words agree on."""
        confidence = 0.95 if self._checksum or self._words else 0.8
        return [
            Finding(self.name, found.start(), found.end(), confidence)
            for found in self._pattern.finditer(text)
            if found.end() > found.start() and self._holds(text, found.start(), found.group())
        ]

    def _holds(self, text: str, start: int, found: str) -> bool:
        if self._checksum is not None:
            digits = found.translate(_ONLY_DIGITS)
            length = LENGTHS.get(self._checksum, len(digits))
            if not digits.isdigit() or not digits.isascii() or len(digits) != length:
                return False
            if not CHECKS[self._checksum](digits):
                return False
        words = before(text, start) if self._words else ""
        return not self._words or any(word in words for word in self._words)


def linear_pattern(pattern: str) -> "re2._Regexp":
    """A pattern that takes linear time whatever the text.

    Raises:
        FieldError: RE2 cannot take it (a look-around, a back reference), or it matches nothing
            but everywhere.
    """
    accepted = "a pattern of RE2: linear, so without look-around and back references"
    if len(pattern) > _MOST_CHARS or not pattern:
        raise FieldError("pattern", pattern[:60], f"{accepted}, of 1 to {_MOST_CHARS} characters")
    try:
        compiled = re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        told = error.args[0].decode("utf-8", "replace") if error.args else ""
        raise FieldError("pattern", pattern, f"{accepted} ({told})") from error
    if compiled.match(""):
        raise FieldError("pattern", pattern, "a pattern that does not match the empty text")
    return compiled
