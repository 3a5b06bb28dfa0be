"""One request as it was measured: what a run keeps, and what everything else is computed from.

Times are seconds on the run's own monotonic clock, 0 at its start. What was not measured is
None, never 0. Definitions: docs/bench.md.
"""

from enum import StrEnum
from itertools import pairwise

import msgspec

MAX_TOKENS_PER_S = 20_000.0
"""No engine gives one user more; what is above it was held back and read at once."""


class Failure(StrEnum):
    """Why a request is not a success; it stays in every denominator."""

    CONNECT = "connect"
    STATUS = "status"
    ERROR_EVENT = "error_event"
    CUT = "cut"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    EMPTY = "empty"


class TokenSource(StrEnum):
    """Who counted the output tokens; the engine's own usage wins."""

    USAGE = "usage"
    EVENTS = "events"


class ContentEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event with generated content of any kind: when its bytes were read, and its characters.

    `read` numbers the reads of the socket in one answer: events of one read arrived together.
    """

    at_s: float
    characters: int
    read: int


class RequestSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request, sent once: there are no retries.

    `level` is the visit's number in the run, `users` or `rate` what was asked of it.
    `scheduled_s` is None in a closed loop. `first_byte_s` is the answer's first byte,
    `first_content_s` the first non-empty generated content of any kind (text, reasoning,
    tool call), `first_visible_s` the first that is no reasoning; `end_s` the end of the answer.
    `output_tokens` is the engine's usage where it has one, `events` the content events.
    `wired_s` is when a connection took the request: later than `sent_s` where none was free.
    `is_filler` marks those after the measured ones, which only keep the load up;
    `is_stopped` those that the bench itself ended, which are no failures.
    """

    number: int
    target: str
    level: int
    user: int
    users: int | None = None
    rate: float | None = None
    is_warmup: bool = False
    is_filler: bool = False
    is_stopped: bool = False
    prompt: str = ""
    input_tokens_asked: int | None = None
    output_tokens_asked: int | None = None
    scheduled_s: float | None = None
    sent_s: float
    wired_s: float | None = None
    first_byte_s: float | None = None
    first_content_s: float | None = None
    first_visible_s: float | None = None
    last_content_s: float | None = None
    end_s: float | None = None
    status: int | None = None
    failure: Failure | None = None
    failure_text: str = ""
    finish_reason: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    output_tokens: int | None = None
    token_source: TokenSource | None = None
    first_tokens: int | None = None
    """Tokens that the first content event holds, where they can be told (else 1 is taken)."""
    hidden_reasoning: bool = False
    reads: int = 0
    events: tuple[ContentEvent, ...] = ()

    @property
    def ttft_s(self) -> float | None:
        """Request sent to first generated content."""
        return None if self.first_content_s is None else self.first_content_s - self.sent_s

    @property
    def first_byte_after_s(self) -> float | None:
        """Request sent to the answer's first byte; a role-only chunk may be it."""
        return None if self.first_byte_s is None else self.first_byte_s - self.sent_s

    @property
    def visible_ttft_s(self) -> float | None:
        """Request sent to first generated content that is no reasoning."""
        return None if self.first_visible_s is None else self.first_visible_s - self.sent_s

    @property
    def scheduled_ttft_s(self) -> float | None:
        """From the schedule on instead of from the sending; None in a closed loop."""
        if self.first_content_s is None or self.scheduled_s is None:
            return None
        return self.first_content_s - self.scheduled_s

    @property
    def scheduled_e2e_s(self) -> float | None:
        """From the schedule to the end of the answer; None in a closed loop."""
        if self.end_s is None or self.scheduled_s is None:
            return None
        return self.end_s - self.scheduled_s

    @property
    def e2e_s(self) -> float | None:
        """Request sent to the end of the answer."""
        return None if self.end_s is None else self.end_s - self.sent_s

    @property
    def tpot_s(self) -> float | None:
        """(last content - first content) / (output tokens - those of the first event).

        None also where it is faster than any engine: see `is_impossibly_fast`.
        """
        tpot_s = self._tpot_s
        return tpot_s if tpot_s is not None and tpot_s * MAX_TOKENS_PER_S > 1 else None

    @property
    def is_impossibly_fast(self) -> bool:
        """Whether the tokens came together after they were held back; no speed is told."""
        tpot_s = self._tpot_s
        return tpot_s is not None and tpot_s * MAX_TOKENS_PER_S <= 1

    @property
    def _tpot_s(self) -> float | None:
        if self.first_content_s is None or self.last_content_s is None or not self.output_tokens:
            return None
        later = self.output_tokens - (self.first_tokens or 1)
        return (self.last_content_s - self.first_content_s) / later if later > 0 else None

    @property
    def user_tokens_per_s(self) -> float | None:
        """1 / TPOT."""
        tpot_s = self.tpot_s
        return 1 / tpot_s if tpot_s else None

    @property
    def user_tokens_per_s_e2e(self) -> float | None:
        """Output tokens over the whole time, TTFT included."""
        whole_s = self.e2e_s
        if not whole_s or not self.output_tokens or self.is_impossibly_fast:
            return None
        return self.output_tokens / whole_s

    @property
    def gaps_s(self) -> tuple[float, ...]:
        """ITL: the gaps between content events."""
        times = [event.at_s for event in self.events]
        return tuple(later - earlier for earlier, later in pairwise(times))
