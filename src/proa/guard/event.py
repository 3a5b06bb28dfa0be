"""One event of a stream, or one line of NDJSON: its texts, and how it reads with their edits."""

import json
import re

import msgspec

from proa.guard.answer_editor import AnswerEditor, Edit
from proa.guard.answer_fields import is_document, is_echo, is_kept
from proa.guard.answers import place_edits, rewritten, without
from proa.guard.event_facts import EventFacts, TrackName, facts_of
from proa.guard.json_text import (
    JsonPlace,
    Path,
    Unescaped,
    UnreadableBody,
    checked,
    decoded,
    encoded,
    places,
)
from proa.guard.track import Piece

_DATA_LINE = re.compile(rb"(?:\A|(?<=[\r\n]))data:[ ]?([^\r\n]*)")
_DONE = (b"[DONE]", b"")
_JSON_FIELDS = frozenset(("arguments", "partial_json"))


class TextPlace(msgspec.Struct, gc=False):
    """A piece of a track: where its text stands in the event's JSON, and what it says."""

    name: TrackName
    start: int
    end: int
    text: str
    is_json: bool
    piece: Piece | None = None


class Event:
    """`texts`: its pieces of tracks. `raw` is all of it, with its border.

    Texts that stand for themselves are edited at once; those of tracks when they are settled.
    """

    __slots__ = ("_echoes", "_edits", "_ends", "_json", "facts", "has_own_text", "raw", "texts")

    def __init__(
        self, raw: bytes, facts: EventFacts, json_: str, ends: tuple[bytes, bytes]
    ) -> None:
        self.raw = raw
        self.facts = facts
        self.texts: list[TextPlace] = []
        self.has_own_text = False
        self._json = json_
        self._ends = ends
        self._edits: list[Edit] = []
        self._echoes: list[Edit] = []

    @property
    def is_settled(self) -> bool:
        return all(text.piece is None or text.piece.is_settled for text in self.texts)

    def read(self, editor: AnswerEditor) -> None:
        """Find the texts, and edit those that are whole."""
        for place in places(self._json, _is_whole):
            if place.is_document and is_echo(place.path):
                self._echoes.append(without(self._json, place))
            elif not is_kept(place.path):
                self._read_text(place, editor)

    def _read_text(self, place: JsonPlace, editor: AnswerEditor) -> None:
        name = None if place.is_document else self.facts.name(place)
        if name is None:
            self.has_own_text = self.has_own_text or place.end > place.start
            if self.facts.grows and place.path == ("text",):
                self._edits += self._edits_of_growing(place, editor)
            else:
                self._edits += place_edits(self._json, place, editor)
        elif place.end > place.start:
            is_json = self.facts.is_json or place.path[-1] in _JSON_FIELDS
            text = decoded(self._json[place.start : place.end])
            self.texts.append(TextPlace(name, place.start, place.end, text, is_json))

    def _edits_of_growing(self, place: JsonPlace, editor: AnswerEditor) -> list[Edit]:
        """A text that each event repeats and lengthens: its open end comes with a later one."""
        said = Unescaped(self._json[place.start : place.end])
        edits, until, _ = editor.settled(said.text, 0)
        if until < len(said.text):
            edits.append(Edit(until, len(said.text), ""))
        return list(_moved(edits, said, place.start))

    def edit_all(self, editor: AnswerEditor) -> None:
        """What is no JSON: the whole data is a text."""
        self._edits = editor.edits(self._json)

    def written(self) -> bytes:
        """The event as it may go to the client."""
        edits = list(self._edits)
        for text in self.texts:
            if text.piece is not None and text.piece.edits:
                said = Unescaped(self._json[text.start : text.end])
                edits += _moved(text.piece.edits, said, text.start)
        if not edits:
            return self.raw
        edits = sorted(edits + self._echoes, key=lambda edit: edit.start)
        return self._ends[0] + rewritten(self._json, edits, b"") + self._ends[1]

    def cut(self) -> tuple["Event", "Event"] | None:
        """The event as two, where its only text is settled in part; None if it can't be cut."""
        piece = self.texts[0].piece
        if len(self.texts) != 1 or piece is None or self._edits or b'"name"' in self.raw:
            return None
        text = self.texts[0]
        settled = piece.track.settled
        if not piece.start < settled < piece.end:
            return None
        said = Unescaped(self._json[text.start : text.end])
        at = text.start + said.raw_offset(settled - piece.start)
        first, rest = piece.track.cut(piece)
        return self._part(text.start, at, first), self._part(at, text.end, rest)

    def _part(self, start: int, end: int, piece: Piece) -> "Event":
        text = self.texts[0]
        document = self._json[: text.start] + self._json[start:end] + self._json[text.end :]
        raw = self._ends[0] + document.encode() + self._ends[1]
        part = Event(raw, self.facts, document, self._ends)
        place = TextPlace(text.name, text.start, text.start + end - start, "", text.is_json, piece)
        part.texts = [place]
        if self._echoes:
            found = [place for place in places(document, is_echo) if place.is_document]
            part._echoes = [without(document, place) for place in found]
        return part

    def around_text(self) -> tuple[bytes, bytes] | None:
        """What stands before and after its only text; None if it says anything else."""
        if len(self.texts) != 1 or self.has_own_text or self._echoes:
            return None
        text = self.texts[0]
        before, after = self._json[: text.start].encode(), self._json[text.end :].encode()
        return self._ends[0] + before, after + self._ends[1]


def read_event(raw: bytes, editor: AnswerEditor, *, is_line: bool) -> Event:
    """
    Raises:
        UnreadableBody: no UTF-8, so it may not pass.
    """
    start, end, raw = _data(raw, is_line=is_line)
    data = raw[start:end]
    ends = raw[:start], raw[end:]
    if data.strip() in _DONE:
        facts = EventFacts(name=_nameless, is_border=bool(data.strip()), is_idle=not data.strip())
        return Event(raw, facts, "", ends)
    try:
        text = checked(data, is_lenient=True)
    except UnreadableBody:
        event = Event(raw, EventFacts(name=_nameless, is_border=True), _utf8(data), ends)
        event.edit_all(editor)
        return event
    event = Event(raw, facts_of(_value(data)), text, ends)
    event.read(editor)
    return event


def _value(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError:  # a number that is none, or beyond any float
        return json.loads(data)


def _data(raw: bytes, *, is_line: bool) -> tuple[int, int, bytes]:
    """Where the data of an event stands; data of several lines is put into one."""
    if is_line:
        return 0, len(raw.rstrip(b"\r\n")), raw
    lines = list(_DATA_LINE.finditer(raw))
    if not lines:
        return len(raw), len(raw), raw
    if len(lines) > 1:
        joined = b" ".join(line[1] for line in lines)
        raw = raw[: lines[0].start(1)] + joined + raw[lines[-1].end() :]
        return lines[0].start(1), lines[0].start(1) + len(joined), raw
    return *lines[0].span(1), raw


def _moved(edits: list[Edit], said: Unescaped, start: int) -> list[Edit]:
    """Edits of what is said as edits of where it is written."""
    at = said.raw_offset
    return [Edit(start + at(e.start), start + at(e.end), encoded(e.new)) for e in edits]


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UnreadableBody("the answer is not valid UTF-8") from None


def _is_whole(path: Path) -> bool:
    return is_echo(path) or is_document(path)


def _nameless(place: JsonPlace) -> TrackName | None:
    return None
