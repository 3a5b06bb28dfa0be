"""One engine's load over time: what it said last, how old that is, what others gave it."""

from collections import deque

import msgspec

from proa.domain.load import EngineLoad
from proa.routing.admission.plateau import PlateauCap

POLLS_KEPT = 3
HIT_RATE_OVER_S = 60.0
MIN_AGE_LIMIT_S = 1.0
"""At short poll intervals an answer that took its time must not be old on arrival."""


def age_limit_s(poll_interval_s: float) -> float:
    """How old a value may become: three polls."""
    return max(POLLS_KEPT * poll_interval_s, MIN_AGE_LIMIT_S)


class LoadTrack:
    """What an engine said, in the order that it came; time is an argument.

    `last` is the newest answer, however old; `plateau` is what the answers tell of how many
    requests the engine works on at most. Where an engine tells prefix hits as two
    counters, their rate over the last minute is filled in.
    """

    def __init__(self) -> None:
        self.last: EngineLoad | None = None
        self.plateau = PlateauCap()
        self._prefixes: deque[tuple[float, float, float]] = deque()
        self._foreign: deque[tuple[float, int]] = deque(maxlen=POLLS_KEPT)

    def observe(self, load: EngineLoad, own_in_flight: int) -> None:
        """Take in an answer and how many requests of ours the engine had at that moment."""
        rate = load.prefix_hit_rate if load.prefix_hit_rate is not None else self._hit_rate(load)
        self.last = msgspec.structs.replace(load, prefix_hit_rate=rate)
        self.plateau.observe(load.running, load.waiting)
        if load.running is not None or load.waiting is not None:
            asked = (load.running or 0) + (load.waiting or 0)
            self._foreign.append((load.at_s, max(0, asked - own_in_flight)))

    def load_at(self, now_s: float, limit_s: float) -> EngineLoad | None:
        """The newest answer, None when there is none younger than `limit_s`."""
        last = self.last
        return last if last is not None and now_s - last.at_s <= limit_s else None

    def foreign_at(self, now_s: float, limit_s: float) -> int | None:
        """Requests that others gave the engine, None when unknown.

        The smallest of the last three answers: an answer and our own count are never
        of quite the same moment, and some engines' gauges lag by seconds.
        """
        counts = [count for at_s, count in self._foreign if now_s - at_s <= limit_s]
        return min(counts) if counts else None

    def forget(self) -> None:
        """The engine went away; what comes back is another one."""
        self.last = None
        self.plateau.forget()
        self._foreign.clear()
        self._prefixes.clear()

    def _hit_rate(self, load: EngineLoad) -> float | None:
        """Hits per query of the last minute; None when nothing was asked for in it."""
        queries, hits = load.prefix_queries_total, load.prefix_hits_total
        if queries is None or hits is None:
            return None
        seen = self._prefixes
        if seen and (queries < seen[-1][1] or hits < seen[-1][2]):
            seen.clear()  # the engine was started anew
        seen.append((load.at_s, queries, hits))
        while len(seen) > 2 and load.at_s - seen[1][0] >= HIT_RATE_OVER_S:
            seen.popleft()
        asked = queries - seen[0][1]
        return min((hits - seen[0][2]) / asked, 1.0) if asked > 0 else None
