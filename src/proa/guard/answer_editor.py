"""What is done to a text of an answer: tokens are restored, what else is personal is masked."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from proa.guard.base import TextScanner
from proa.guard.finding import Finding
from proa.guard.mask import mask
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook

HELD_MAX_CHARS = 64
_SIGN = re.compile(r"[\d@:=]")
_LONG_CHARS = 24  # the first line of a private key is longer
_SHORTEST_CHARS = 5  # of a token; no finding of proa's own types is shorter


class Edit(msgspec.Struct, frozen=True, gc=False):
    """From character `start` to `end` the text becomes `new`."""

    start: int
    end: int
    new: str

    def __repr__(self) -> str:  # never the text
        return f"Edit({self.start}, {self.end})"


class Settled(NamedTuple):
    """`edits` end by `until`; nothing that comes later can change what lies before it.

    `running_from`: where a long finding begins that reaches `until` and may go on, else `until`.
    """

    edits: list[Edit]
    until: int
    running_from: int


class AnswerEditor:
    """The edits of one answer, whole or streamed; `counts` has its findings by type.

    What is restored is the user's own and not searched. What the rule would block or turn
    into a token is masked in an answer.
    """

    __slots__ = ("_rule", "_scanner", "_tokens", "counts", "shortest_chars")

    def __init__(self, scanner: TextScanner, rule: GuardRule, tokens: TokenBook) -> None:
        self._scanner = scanner if rule.masks_answers else None
        self._rule = rule
        self._tokens = tokens
        self.counts: Counter[str] = Counter()
        self.shortest_chars = 1 if rule.has_detectors else _SHORTEST_CHARS

    @property
    def is_idle(self) -> bool:
        """Whether no answer can have an edit, so that it may pass unread."""
        return self._scanner is None and not len(self._tokens)

    def edits(self, text: str) -> list[Edit]:
        """The edits of a whole text, in their order."""
        return self.settled(text, 0, is_last=True).edits

    def settled(
        self, text: str, since: int, *, is_last: bool = False, is_running: bool = False
    ) -> Settled:
        """What can be said of a growing text behind `since`; all of it if it `is_last`.

        `is_running`: the text begins with the finding that `running_from` told of. Of a
        finding that began before `since` the rest is masked; of a long one it is left out.
        """
        restored = self._tokens.spans(text)
        until = len(text)
        if not is_last:
            until = _held_back(restored, self.open_from(text, since), text, since)
            if until == since or (not is_running and self._holds_nothing(text, since, until)):
                return Settled([], until, until)
        found = self._found(text, restored)
        if not is_last:
            until = _held_back([(f.start, f.end) for f in found], until, text, since)
        edits = [
            Edit(start, end, self._tokens.original(text[start:end]) or "")
            for start, end in restored
            if since < end <= until
        ]
        edits += self._masked(text, [each for each in found if since < each.end <= until], since)
        long = (f.start for f in found if f.end == until and until - f.start > _LONG_CHARS)
        return Settled(sorted(edits, key=_start), until, next(long, until))

    def _holds_nothing(self, text: str, since: int, until: int) -> bool:
        """Whether what is settled is too short, and what is open has nothing to end a finding."""
        return until - since < self.shortest_chars and not _SIGN.search(text, since)

    def may_hold(self, text: str, since: int) -> bool:
        """Whether there is anything to find behind `since`."""
        restored = self._tokens.spans(text)
        found = self._found(text, restored)
        return any(end > since for _, end in restored) or any(each.end > since for each in found)

    def open_from(self, text: str, since: int) -> int:
        """From where on the text can still become something else, at most 64 characters back."""
        at = len(text)
        if self._scanner is not None:
            at = self._scanner.may_begin(text)
        if len(self._tokens):
            at = min(at, self._tokens.may_begin(text))
        return max(at, since, len(text) - HELD_MAX_CHARS)

    def _found(self, text: str, restored: list[tuple[int, int]]) -> list[Finding]:
        """Findings that touch no token."""
        found = self._scanner.scan(text) if self._scanner is not None else []
        if not restored:
            return found
        return [
            f for f in found if not any(f.start < end and start < f.end for start, end in restored)
        ]

    def _masked(self, text: str, found: list[Finding], since: int) -> Iterator[Edit]:
        for each in found:
            mode = self._rule.answer_mode_of(each.type)
            if mode != "off" and each.start >= since:
                self.counts[each.type] += 1
            if mode == "mask":
                start = max(each.start, since)
                is_told = start > each.start and each.end - each.start > HELD_MAX_CHARS
                new = "" if is_told else mask(each.type, text[start : each.end])
                yield Edit(start, each.end, new)


def _held_back(spans: list[tuple[int, int]], until: int, text: str, since: int) -> int:
    """No place within one of the spans: before it, or behind one that is too long to be held."""
    for start, end in spans:
        if start < until < end:
            return max(start, since) if len(text) - start <= HELD_MAX_CHARS else end
    return until


def _start(edit: Edit) -> int:
    return edit.start
