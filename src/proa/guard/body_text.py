"""A text of a body as it reads, and from what is found in it to the places in the body."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Protocol

from proa.guard.finding import Finding
from proa.guard.hit import Hit
from proa.guard.json_text import Unescaped, decoded, is_document, quoted_spans

_NUMBER_SIGN = re.compile(r"[-+.0-9eE]")


class BodyText(Protocol):
    """`text` is what is searched."""

    text: str

    def hits(self, findings: Sequence[Finding]) -> Iterator[Hit]:
        """The places of findings, in their order."""
        ...


class PlainText:
    """A text that stands in the body as it is; offsets count bytes if the body does."""

    __slots__ = ("_in_bytes", "_start", "text")

    def __init__(self, text: str, start: int = 0, *, in_bytes: bool = False) -> None:
        self.text = text
        self._start = start
        self._in_bytes = in_bytes

    def hits(self, findings: Sequence[Finding]) -> Iterator[Hit]:
        for each in findings:
            start, end = self._offset(each.start), self._offset(each.end)
            yield Hit(each.type, start, end, self.text[each.start : each.end])

    def _offset(self, offset: int) -> int:
        width = len(self.text[:offset].encode()) if self._in_bytes else offset
        return self._start + width


class StringText:
    """The content of a JSON string that begins at `start` of the body."""

    __slots__ = ("_raw", "_start", "text")

    def __init__(self, raw: str, start: int, text: str) -> None:
        self.text = text
        self._raw = raw
        self._start = start

    def hits(self, findings: Sequence[Finding]) -> Iterator[Hit]:
        if not findings:
            return
        at = Unescaped(self._raw).raw_offset
        for each in findings:
            start, end = self._start + at(each.start), self._start + at(each.end)
            yield Hit(each.type, start, end, self.text[each.start : each.end], escapes=1)


class DocumentText:
    """A JSON document: read as a whole, so that a key is context to its value.

    It stands in the body as a value, or itself in a string (`in_string`: that string's raw
    content). A finding that goes over several strings is a hit in each.
    """

    __slots__ = ("_document", "_in_string", "_start", "_view", "text")

    def __init__(self, document: str, start: int, in_string: str | None = None) -> None:
        self._document = document
        self._start = start
        self._in_string = in_string
        self._view = Unescaped(document)
        self.text = self._view.text

    def hits(self, findings: Sequence[Finding]) -> Iterator[Hit]:
        if not findings:
            return
        outer = None if self._in_string is None else Unescaped(self._in_string)
        spans = quoted_spans(self._document)
        for found in findings:
            start, end = self._view.raw_offset(found.start), self._view.raw_offset(found.end)
            pieces = list(_within(spans, start, end))
            is_number = not pieces
            for a, b in pieces or [_number(self._document, start, end)]:
                text = decoded(self._document[a:b])
                if outer is not None:
                    a, b = outer.raw_offset(a), outer.raw_offset(b)  # noqa: PLW2901
                escapes = int(outer is not None) + int(not is_number)
                yield Hit(found.type, self._start + a, self._start + b, text, escapes, is_number)


def string_text(raw: str, start: int) -> BodyText:
    """A JSON string's text, or the document that it holds."""
    text = decoded(raw)
    return DocumentText(text, start, raw) if is_document(text) else StringText(raw, start, text)


def _within(spans: list[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """What of `start` to `end` stands in strings."""
    for a, b in spans[max(0, bisect_right(spans, (start, start)) - 1) :]:
        if a >= end:
            return
        if max(a, start) < min(b, end):
            yield max(a, start), min(b, end)


def _number(document: str, start: int, end: int) -> tuple[int, int]:
    """The whole number that stands around a place outside of strings."""
    while start > 0 and _NUMBER_SIGN.match(document[start - 1]):
        start -= 1
    while end < len(document) and _NUMBER_SIGN.match(document[end]):
        end += 1
    return start, end
