"""How quickly an engine's streams come: counted per stream and window, learned from elsewhere.

Nothing is done per event but the exchange's own count of reads; the sweep takes that over
four times a second, the end of the stream takes the rest. Reads that came before the first
content are not counted, and a stream that its client ever paused is left out from then on.
"""

from proa.gateway.link import EngineLink
from proa.telemetry.rows import UNIT_BYTES, Engine
from proa.wire.usage import Usage

_SAMPLE_MAX_BYTES = 1_048_576
_LAG_LIMIT_S = 0.005
_DROPPED_IN_A_ROW = 3
_US = 1e6
_EVENTS, _STREAM_US = Engine.EVENTS, Engine.STREAM_US
_HELD_BYTE_MS, _HELD_EVENT_MS = Engine.HELD_BYTE_MS, Engine.HELD_EVENT_MS


class Pace:
    """One stream from its sending on; it waits at its engine until its first content."""

    __slots__ = ("_body_bytes", "_events", "_is_waiting", "_link", "_sent_s", "_since_s")

    def __init__(self, link: EngineLink, body_bytes: int, now_s: float) -> None:
        self._link = link
        self._body_bytes = body_bytes
        self._sent_s = now_s
        self._since_s = 0.0  # counted from here on; 0 for not at all
        self._events = 0
        self._is_waiting = True
        link.sole = None if link.waiting else self
        link.waiting += 1
        link.waiting_bytes += body_bytes
        row, cell = link.row, link.waiting_cell
        row[cell], row[cell + 1] = link.waiting, link.waiting_bytes

    def began(self, now_s: float, reads: int = 0) -> None:
        """The first content came; `reads` since the last call of `window` came up to it."""
        if not self._is_waiting:
            return
        if self._link.sole is self and self._body_bytes <= _SAMPLE_MAX_BYTES:
            self._count_prompt(int((now_s - self._sent_s) * _US))
        self.left()
        self._events = -reads
        self._since_s = now_s

    def left(self) -> None:
        """It waits no more, for whatever reason; may be called again."""
        if self._is_waiting:
            self._is_waiting = False
            link = self._link
            link.waiting -= 1
            link.waiting_bytes -= self._body_bytes
            row, cell = link.row, link.waiting_cell
            row[cell], row[cell + 1] = link.waiting, link.waiting_bytes

    @property
    def events(self) -> int:
        """Events of content so far, as of the last call of `window`."""
        return max(self._events, 0) + 1 if self._since_s or self._events else 0

    def window(self, events: int, now_s: float, *, is_paused: bool = False) -> None:
        """`events` came since the last call."""
        if not self._since_s:
            return
        if self._events < 0:
            events, self._events = events + self._events, 0
        self._events += events
        if is_paused:
            self._since_s = 0.0
            return
        counts, us = self._link.counts, int((now_s - self._since_s) * _US)
        counts[_EVENTS] += events
        counts[_STREAM_US] += us
        counts[_HELD_BYTE_MS] += self._body_bytes * us // 1000
        counts[_HELD_EVENT_MS] += self._events * us // 1000
        self._since_s = now_s

    def ended(self, usage: Usage) -> int:
        """The stream is whole; its tokens. The first of them came with the first content."""
        counts, tokens = self._link.counts, usage.completion_tokens
        if tokens is not None and self._events and self._since_s:
            counts[Engine.TOLD_EVENTS] += self._events
            counts[Engine.TOLD_TOKENS] += max(tokens - 1, 0)
        return self._events + 1 if tokens is None else tokens

    def _count_prompt(self, us: int) -> None:
        counts, units = self._link.counts, self._body_bytes // UNIT_BYTES
        counts[Engine.FIRST_COUNT] += 1
        counts[Engine.FIRST_US] += us
        counts[Engine.FIRST_UNITS] += units
        counts[Engine.FIRST_UNITS2] += units * units
        counts[Engine.FIRST_UNITS_US] += units * us


class Windows:
    """The sweep's part: which windows count, and how many sequences the engine had in them."""

    def __init__(self) -> None:
        self._dropped = 0

    def is_good(self, lag_s: float) -> bool:
        """Whether arrivals in the window that ends now were seen in time.

        A gateway that is always late must learn all the same: after three windows
        dropped in a row the next one counts.
        """
        late = lag_s > _LAG_LIMIT_S and self._dropped < _DROPPED_IN_A_ROW
        self._dropped = self._dropped + 1 if late else 0
        return not late

    def close(self, link: EngineLink, sequences: int, seconds: float, *, is_good: bool) -> None:
        """End an engine's window; `sequences` it decodes now, of all workers and clients."""
        counts, before = link.counts, link.sequences
        link.sequences = sequences
        stream_us = counts[_STREAM_US]
        if not stream_us:
            return
        if is_good:
            counts[Engine.SEQUENCES_US] += (before + sequences) * stream_us // 2
            counts[Engine.WINDOW_US] += int(seconds * _US)
        else:
            for cell in (_EVENTS, _STREAM_US, _HELD_BYTE_MS, _HELD_EVENT_MS):
                counts[cell] = 0
