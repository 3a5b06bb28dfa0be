"""Events that differ from an earlier one in their text only: known by their bytes, unread."""

import re

from proa.guard.event import Event, TextPlace
from proa.guard.json_text import UnreadableBody, decoded
from proa.guard.track import Track

_MAX_SHAPES = 8
_TEXT = rb'((?:[^"\\]|\\["\\/bfnrt])*+)'
_COUNTED = re.compile(
    rb'("(?:[a-z_]*tokens(?:_[a-z]+)?|sequence_number|created|[a-z_]*_(?:n|ms|second))": ?)[0-9.]+'
    rb'|("(?:created_at|obfuscation)": ?")[A-Za-z0-9:.+-]*'
)


class Shape:
    """What stands before and after the only text of an event, and whose text it is.

    Numbers that count on from event to event may differ, an index may not.
    """

    __slots__ = ("_after", "_before", "_event", "_pattern", "track")

    def __init__(self, event: Event, around: tuple[bytes, bytes], track: Track) -> None:
        self.track = track
        self._event = event
        self._before, self._after = around
        self._pattern: re.Pattern[bytes] | None = None
        if any(_COUNTED.search(part) for part in around):
            self._pattern = re.compile(_counting(self._before) + _TEXT + _counting(self._after))

    def is_like(self, other: "Shape") -> bool:
        """Whether the other one says nothing new."""
        if self._pattern is not None and other._pattern is not None:
            return self._pattern.pattern == other._pattern.pattern
        return self._before == other._before and self._after == other._after

    def place_in(self, event: bytes) -> tuple[int, int] | None:
        """Where the text of an event of this shape is written, None for another event."""
        start, end = len(self._before), len(event) - len(self._after)
        if (
            start <= end
            and event.startswith(self._before)
            and event.endswith(self._after)
            and event.find(b'"', start, end) < 0
            and event.find(b"\n", start, end) < 0
        ):
            return start, end
        if self._pattern is not None:
            found = self._pattern.fullmatch(event)
            return found.span(1) if found is not None else None
        return None

    def event(self, raw: bytes, start: int, end: int) -> Event | None:
        """The event whose text is written there, None if that cannot be read."""
        try:
            written = raw[start:end].decode()
            text = decoded(written)
        except (UnicodeDecodeError, UnreadableBody):
            return None
        event = Event(raw, self._event.facts, written, (raw[:start], raw[end:]))
        like = self._event.texts[0]
        event.texts.append(TextPlace(like.name, 0, len(written), text, like.is_json))
        return event


class Shapes:
    """The few shapes that a stream's events have."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: list[Shape] = []

    def note(self, event: Event, track: Track) -> None:
        """Remember an event's shape, at the cost of the oldest if there are many."""
        around = event.around_text()
        if around is None or event.facts.finished or event.facts.is_border:
            return
        shape = Shape(event, around, track)
        if not any(each.is_like(shape) for each in self._shapes):
            self._shapes = [shape, *self._shapes[: _MAX_SHAPES - 1]]

    def known(self, raw: bytes) -> tuple[Track, Event] | None:
        """Whose text an event carries on, and the event; None for one that has to be read."""
        for shape in self._shapes:
            place = shape.place_in(raw)
            if place is not None:
                event = shape.event(raw, *place)
                return None if event is None else (shape.track, event)
        return None


def _counting(part: bytes) -> bytes:
    """A pattern for the part with any numbers where it counts."""
    pieces: list[bytes] = []
    at = 0
    for found in _COUNTED.finditer(part):
        key = found[1] or found[2]
        value = rb"[0-9.]++" if found[1] else rb"[A-Za-z0-9:.+-]*+"
        pieces += re.escape(part[at : found.start()]), re.escape(key), value
        at = found.end()
    return b"".join((*pieces, re.escape(part[at:])))
