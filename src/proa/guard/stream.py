"""Streamed answers of every API: masked and restored on the way, as they would be when whole.

Events stay what they are. One whose text ends in the middle of what may be personal data (or
of a token) waits for what follows, with the events of its choice behind it, and then passes
byte for byte, or with its part of the edit. So what waits of a text are at most 64 characters.
"""

from collections.abc import Iterator

from proa.guard.answer_editor import HELD_MAX_CHARS, AnswerEditor
from proa.guard.event import Event, read_event
from proa.guard.event_facts import TrackName
from proa.guard.stream_shape import Shapes
from proa.guard.track import Track
from proa.wire.sse import split_events, split_lines

_HELD_MAX_EVENTS = 256


class StreamFilter:
    """Feed it whole events (or NDJSON lines); it returns what may go to the client now.

    Raises:
        UnreadableBody: (by `feed` and `finish`) an event that cannot be searched; nothing
            of the stream may go on then.
    """

    __slots__ = ("_editor", "_is_lines", "_queue", "_shapes", "_tracks")

    def __init__(self, editor: AnswerEditor, *, ndjson: bool = False) -> None:
        self._editor = editor
        self._is_lines = ndjson
        self._tracks: dict[TrackName, Track] = {}
        self._queue: list[Event] = []
        self._shapes = Shapes()

    @property
    def held_events(self) -> int:
        return len(self._queue)

    def feed(self, block: bytes) -> bytes:
        """What may go on of a block of whole events and of what was held."""
        known = self._shapes.known(block)
        if known is not None:
            return self._next_of(*known)
        split = split_lines if self._is_lines else split_events
        out: list[bytes] = []
        at = 0
        for _, end in split(block):
            out.append(self._next(block[at:end]))
            at = end
        if at < len(block):
            out.append(self._next(block[at:]))
        return b"".join(out)

    def finish(self) -> bytes:
        """The stream has ended: what is still held."""
        self._settle_all()
        return b"".join(self._released())

    def _next(self, raw: bytes) -> bytes:
        known = self._shapes.known(raw)
        if known is not None:
            return self._next_of(*known)
        event = read_event(raw, self._editor, is_line=self._is_lines)
        facts = event.facts
        if facts.is_idle:
            return event.written()
        if facts.is_border:
            self._settle_all()
        for text in event.texts:
            track = self._track(text.name, is_json=text.is_json)
            self._settle_others(track, text.name[0])
            text.piece = track.add(text.text)
            track.settle(is_last=text.name[0] in facts.finished)
        if facts.finished:
            self._settle_lanes(facts.finished)
        if len(event.texts) == 1:
            self._shapes.note(event, self._tracks[event.texts[0].name])
        return self._queued(event)

    def _next_of(self, track: Track, event: Event) -> bytes:
        """An event of a known shape, which is not read; with nothing open it may pass as it is."""
        text = event.texts[0]
        if not self._queue and track.passes(text.text):
            return event.raw
        self._settle_others(track, text.name[0])
        text.piece = track.add(text.text)
        track.settle()
        return self._queued(event)

    def _queued(self, event: Event) -> bytes:
        self._queue.append(event)
        if len(self._queue) > _HELD_MAX_EVENTS:
            self._settle_all()
        return b"".join(self._released())

    def _track(self, name: TrackName, *, is_json: bool) -> Track:
        track = self._tracks.get(name)
        if track is None:
            track = self._tracks[name] = Track(self._editor, is_json=is_json)
        return track

    def _settle_others(self, track: Track, lane: object) -> None:
        """Text of another field of the same choice: what was open before it has ended."""
        for name, other in self._tracks.items():
            if name[0] == lane and other is not track and other.is_open:
                other.settle(is_last=True)

    def _settle_lanes(self, lanes: frozenset[int]) -> None:
        for name, track in self._tracks.items():
            if name[0] in lanes:
                track.settle(is_last=True)

    def _settle_all(self) -> None:
        for track in self._tracks.values():
            track.settle(is_last=True)

    def _released(self) -> Iterator[bytes]:
        """The events that wait for nothing any more; those of other choices may overtake."""
        waiting: list[Event] = []
        lanes: set[int] = set()
        for event in self._queue:
            if event.is_settled and lanes.isdisjoint(event.facts.lanes):
                yield event.written()
                continue
            if lanes.isdisjoint(event.facts.lanes) and _is_long(event):
                parts = event.cut()
                if parts is not None:
                    yield parts[0].written()
                    event = parts[1]  # noqa: PLW2901
            lanes |= event.facts.lanes
            waiting.append(event)
        self._queue = waiting


def _is_long(event: Event) -> bool:
    """Whether more of the event's text waits than an open candidate may hold."""
    piece = event.texts[0].piece if event.texts else None
    return piece is not None and piece.track.end - piece.start > HELD_MAX_CHARS
