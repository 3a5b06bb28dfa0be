"""What is done to a text of an answer: tokens are restored, what else is personal is masked."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from proa.guard.base import TextScanner
from proa.guard.finding import Finding
from proa.guard.mask import mask
from proa.guard.policy import GuardRule
from proa.guard.tokens import TokenBook

HELD_MAX_CHARS = 64
_SHORTEST_CHARS = 5  # of a token; no finding of proa's own types is shorter


class Edit(msgspec.Struct, frozen=True, gc=False):
    """From character `start` to `end` the text becomes `new`."""

    start: int
    end: int
    new: str

    def __repr__(self) -> str:  # never the text
        return f"Edit({self.start}, {self.end})"


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
        return self.settled(text, 0, is_last=True)[0]

    def settled(self, text: str, since: int, *, is_last: bool) -> tuple[list[Edit], int]:
        """The edits of a growing text that end after `since`, and up to where it is settled.

        What comes later can change only what lies behind that place, unless the text
        `is_last`. A finding that began before `since` goes on as a finding of its own.
        """
        until = len(text) if is_last else self.open_from(text, since)
        if until - since < self.shortest_chars and not is_last:
            return [], until
        restored = self._tokens.spans(text)
        found = self._found(text, restored)
        if not is_last:
            for start, end in (*restored, *((each.start, each.end) for each in found)):
                if start < until < end:
                    is_held = len(text) - start <= HELD_MAX_CHARS
                    until = max(start, since) if is_held else end
        edits = [
            Edit(start, end, self._tokens.original(text[start:end]) or "")
            for start, end in restored
            if since < end <= until
        ]
        edits += self._masked(text, [each for each in found if since < each.end <= until], since)
        return sorted(edits, key=_start), until

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
                yield Edit(start, each.end, mask(each.type, text[start : each.end]))


def _start(edit: Edit) -> int:
    return edit.start
