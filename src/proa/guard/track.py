"""One text that comes in pieces: what is settled, what is open, what becomes of each piece."""

import re

from proa.guard.answer_editor import AnswerEditor, Edit
from proa.guard.json_text import encoded

_CONTEXT_CHARS = 96
_RUNNING_MAX_CHARS = 16_384
_NUMBER = re.compile(r"-?[1-9][0-9]*")
_BEFORE_NUMBER = re.compile(r"[:\[,][ \t\r\n]*$")


class Piece:
    """A part of a track; `edits` count from its beginning and are complete once it is settled."""

    __slots__ = ("edits", "end", "start", "track")

    def __init__(self, track: "Track", start: int, end: int) -> None:
        self.track = track
        self.start = start
        self.end = end
        self.edits: list[Edit] = []

    @property
    def is_settled(self) -> bool:
        return self.end <= self.track.settled

    def takes(self, edit: Edit) -> None:
        """Note what of an edit, which counts as the track does, lies in this piece.

        The new text comes in the piece where the old one begins.
        """
        start, end = max(edit.start, self.start), min(edit.end, self.end)
        if start < end:
            new = edit.new if edit.start >= self.start else ""
            self.edits.append(Edit(start - self.start, end - self.start, new))


class Track:
    """A text, by the choice and the field that it belongs to; offsets count from its beginning.

    `settled`: up to there nothing changes any more. `is_json`: pieces of a JSON document, so
    what is put in is written for the inside of a string there.
    """

    __slots__ = ("_before", "_editor", "_open", "_pieces", "_running_chars", "is_json", "settled")

    def __init__(self, editor: AnswerEditor, *, is_json: bool = False) -> None:
        self._editor = editor
        self._before = ""
        self._running_chars = 0
        self._open = ""
        self._pieces: list[Piece] = []
        self.is_json = is_json
        self.settled = 0

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    @property
    def end(self) -> int:
        """Where the text ends that came so far."""
        return self.settled + len(self._open)

    def passes(self, text: str) -> bool:
        """Whether a text may go on at once as it is; it is noted then. Only if nothing is open."""
        if self._running_chars:
            return False
        since = len(self._before)
        whole = self._before + text
        if self._editor.open_from(whole, since) < len(whole):
            return False
        if len(text) >= self._editor.shortest_chars and self._editor.may_hold(whole, since):
            return False
        self.settled += len(text)
        self._before = whole[-_CONTEXT_CHARS:]
        return True

    def add(self, text: str) -> Piece:
        """The next piece; it is settled by `settle`."""
        start = self.settled + len(self._open)
        self._open += text
        piece = Piece(self, start, start + len(text))
        self._pieces.append(piece)
        return piece

    def settle(self, *, is_last: bool = False) -> None:
        """Settle what can be; all of it if nothing more will come."""
        if not self._open:
            return
        since = len(self._before)
        whole = self._before + self._open
        edits, until, running_from = self._editor.settled(
            whole, since, is_last=is_last, is_running=self._running_chars > 0
        )
        if until == since:
            return
        shift = self.settled - since
        for edit in edits:
            new = self._written(whole, edit) if self.is_json else edit.new
            for piece in self._pieces:
                piece.takes(Edit(edit.start + shift, edit.end + shift, new))
        self.settled += until - since
        self._open = whole[until:]
        self._keep(whole[:until], until - since, until - running_from)
        self._pieces = [piece for piece in self._pieces if not piece.is_settled]

    def cut(self, piece: Piece) -> tuple[Piece, Piece]:
        """A piece as two: what of it is settled, and the rest."""
        first = Piece(self, piece.start, self.settled)
        first.edits = piece.edits
        rest = Piece(self, self.settled, piece.end)
        self._pieces[self._pieces.index(piece)] = rest
        return first, rest

    def _keep(self, whole: str, new_chars: int, running_chars: int) -> None:
        """Keep the context; of a finding that may go on its beginning, too, up to 16 Ki."""
        self._before = whole[-_CONTEXT_CHARS:]
        if not running_chars:
            self._running_chars = 0
            return
        self._running_chars += new_chars if self._running_chars else running_chars
        if self._running_chars > _RUNNING_MAX_CHARS:
            self._running_chars = 0
        elif running_chars > _CONTEXT_CHARS:
            start = len(whole) - running_chars
            between = min(start + _CONTEXT_CHARS, len(whole) - _CONTEXT_CHARS)
            self._before = whole[start : max(start, between)] + self._before

    def _written(self, whole: str, edit: Edit) -> str:
        """An edit in JSON: a number of its own becomes 0, as `****` would be no JSON."""
        old = whole[edit.start : edit.end]
        if (
            _NUMBER.fullmatch(old)
            and _BEFORE_NUMBER.search(whole, max(0, edit.start - 16), edit.start)
            and whole[edit.end : edit.end + 1] in ("", ",", "]", "}", " ", "\n", "\r")
        ):
            return "0"
        return encoded(edit.new)
