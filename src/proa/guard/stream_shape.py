"""Events that differ from an earlier one in their text only: known by their bytes, unread."""

import re

from proa.guard.track import Track

_MAX_SHAPES = 8
_TEXT = rb'((?:[^"\\]|\\["\\/bfnrt])*+)'
_COUNTED = re.compile(
    rb'("(?:[a-z_]*tokens(?:_[a-z]+)?|sequence_number|created|[a-z_]*_(?:n|ms|second))": ?)[0-9.]+'
    rb'|("(?:created_at|obfuscation)": ?")[A-Za-z0-9:.+-]*'
)


class Shape:
    """What stands before and after the text of an event, and whose text it is.

    Numbers that count on from event to event may differ, an index may not.
    """

    __slots__ = ("_after", "_before", "_pattern", "_texts", "track")

    def __init__(self, before: bytes, after: bytes, track: Track) -> None:
        self.track = track
        self._before = before
        self._after = after
        self._texts = len(before), len(after)
        self._pattern: re.Pattern[bytes] | None = None
        if _COUNTED.search(before) or _COUNTED.search(after):
            self._pattern = re.compile(_counting(before) + _TEXT + _counting(after))

    def is_like(self, other: "Shape") -> bool:
        """Whether the other one says nothing new."""
        if self._pattern is not None and other._pattern is not None:
            return self._pattern.pattern == other._pattern.pattern
        return self._before == other._before and self._after == other._after

    def text_of(self, event: bytes) -> bytes | None:
        """The text of an event of this shape as it is written, None for another event."""
        if event.startswith(self._before) and event.endswith(self._after):
            text = event[self._texts[0] : len(event) - self._texts[1]]
            if text.find(b'"') < 0 and text.find(b"\\u") < 0 and text.find(b"\n") < 0:
                return text if len(event) >= sum(self._texts) else None
        if self._pattern is not None:
            found = self._pattern.fullmatch(event)
            return found[1] if found is not None else None
        return None


class Shapes:
    """The few shapes that a stream's events have."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: list[Shape] = []

    def note(self, shape: Shape) -> None:
        """Remember a shape, at the cost of the oldest if there are many."""
        if any(each.is_like(shape) for each in self._shapes):
            return
        self._shapes = [shape, *self._shapes[: _MAX_SHAPES - 1]]

    def known(self, event: bytes) -> tuple[Track, bytes] | None:
        """Whose text an event carries on, and that text as it is written."""
        for shape in self._shapes:
            text = shape.text_of(event)
            if text is not None:
                return shape.track, text
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
