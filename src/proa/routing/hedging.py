"""When a request that takes unusually long may be sent to a second engine, and to which.

Of short requests that are answered in one piece, one in twenty takes longer than the
95th percentile of their durations; a second try on an idle engine then is often faster
(Dean and Barroso, The Tail at Scale, 2013). A budget bounds what that costs.
"""

from collections.abc import Hashable, Iterable
from math import log
from typing import NamedTuple

from proa.routing.retry_budget import RetryBudget

SHORT_TOKENS = 256
SHORT_BODY_BYTES = 65_536
LEAST_SEEN = 100
SAVED_HEDGES = 3.0
_GENERATE = frozenset((b"/v1/chat/completions", b"/v1/completions", b"/v1/messages"))
_ONE_PASS = frozenset((b"/v1/embeddings", b"/v1/rerank", b"/v1/score"))
_LEAST_S = 0.001
_RATIO = 1.1
_LOG_RATIO = log(_RATIO)
_BUCKETS = 160  # up to more than an hour
_MOST_SEEN = 1000


def is_short(target: bytes, max_tokens: int | None, body_bytes: int) -> bool:
    """Whether a POST to `target` costs little and changes nothing in an engine.

    Text is short where the client limits it to `SHORT_TOKENS`.
    """
    if body_bytes > SHORT_BODY_BYTES:
        return False
    if target in _GENERATE:
        return max_tokens is not None and max_tokens <= SHORT_TOKENS
    return target in _ONE_PASS


class Durations:
    """The 95th percentile of the last durations, at most a tenth too high.

    Counts by buckets of equal ratio; every `_MOST_SEEN / 2` durations the old ones count half.
    """

    def __init__(self) -> None:
        self._counts = [0.0] * _BUCKETS
        self._seen = 0.0
        self._p95_s: float | None = None

    def observe(self, seconds: float) -> None:
        bucket = int(log(seconds / _LEAST_S) / _LOG_RATIO) + 1 if seconds > _LEAST_S else 0
        self._counts[min(bucket, _BUCKETS - 1)] += 1.0
        self._seen += 1.0
        self._p95_s = None
        if self._seen >= _MOST_SEEN:
            self._counts = [count / 2.0 for count in self._counts]
            self._seen /= 2.0

    @property
    def p95_s(self) -> float | None:
        """None until `LEAST_SEEN` durations were seen."""
        if self._p95_s is None and self._seen >= LEAST_SEEN:
            above = self._seen * 0.05
            bucket = _BUCKETS
            while above >= 0.0 and bucket:
                bucket -= 1
                above -= self._counts[bucket]
            self._p95_s = _LEAST_S * _RATIO**bucket
        return self._p95_s


class Standing(NamedTuple):
    """An engine that may serve the request: its place in the fleet, what it has to do, its speed.

    `share` is the part of its traffic that it may get. The cap of an idle engine is never reached.
    """

    engine: int
    in_flight: int
    foreign: int
    share: float
    step_s: float
    is_preferred: bool


def idle_engine(engines: Iterable[Standing]) -> int | None:
    """The fastest of the healthy engines that have nothing to do, preferred ones first."""
    idle = [e for e in engines if not (e.in_flight or e.foreign) and e.share >= 1.0]
    if not idle:
        return None
    return min(idle, key=lambda e: (not e.is_preferred, e.step_s)).engine


class Hedging:
    """What one worker has seen of short requests. A `kind` is an engine and a path.

    hedges <= share x short requests that have ended, from the start on; in any later
    stretch at most `SAVED_HEDGES` more.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._budget = RetryBudget(share, floor=0.0, capacity=SAVED_HEDGES)
        self._durations: dict[Hashable, Durations] = {}

    def allow(self, share: float) -> None:
        """Another share from now on; what was learned stays."""
        if share != self._share:
            self._share = share
            self._budget = RetryBudget(share, floor=0.0, capacity=SAVED_HEDGES)

    def ended(self, kind: Hashable, seconds: float | None) -> None:
        """A short request has ended; `seconds` is None where its end tells no duration."""
        self._budget.deposit()
        if seconds is not None:
            durations = self._durations.get(kind)
            if durations is None:
                durations = self._durations[kind] = Durations()
            durations.observe(seconds)

    def is_late(self, kind: Hashable, waited_s: float) -> bool:
        """Whether a short request has waited longer than 95 % of its kind take."""
        durations = self._durations.get(kind)
        p95_s = None if durations is None else durations.p95_s
        return p95_s is not None and waited_s > p95_s and self._budget.tokens >= 1.0

    def withdraw(self) -> bool:
        """Take a hedge from the budget, if there is one to take."""
        return self._budget.withdraw()
