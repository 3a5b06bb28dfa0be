"""One upstream try's hold on an engine: every counter hangs on it and is released in one place."""

from proa.domain.lengths import UNLIMITED
from proa.domain.outcome import Outcome
from proa.gateway.link import EngineLink
from proa.gateway.pace import Pace
from proa.telemetry.rows import Engine

_OUTCOME = Engine.OUTCOME
_OK = Outcome.OK


class Lease:
    """Taken at dispatch, before a byte went out; `release` is idempotent.

    `pace` is there for streams, from their sending on. `limit` is what the client limits
    the answer to, if anything; other workers see the sum of limits as of the last lease.
    """

    __slots__ = ("_link", "_trial", "limit", "open", "pace")

    def __init__(self, link: EngineLink, now_s: float, limit: int | None) -> None:
        self._link = link
        self.limit = limit
        self.open = True
        self.pace: Pace | None = None
        link.in_flight += 1
        link.limits_in_flight += limit or UNLIMITED
        link.row[link.in_flight_cell] = link.in_flight
        link.row[link.limits_cell] = link.limits_in_flight
        self._trial = link.troubled and link.begin(now_s)

    def release(self, outcome: Outcome, now_s: float) -> None:
        """Give the engine back and tell its breaker how it went."""
        if not self.open:
            return
        self.open = False
        if self.pace is not None:
            self.pace.left()
        link = self._link
        link.in_flight -= 1
        link.limits_in_flight -= self.limit or UNLIMITED
        link.row[link.in_flight_cell] = link.in_flight
        link.counts[_OUTCOME + outcome] += 1
        if link.troubled or outcome is not _OK:
            link.record(outcome, now_s, trial=self._trial)
        if link.freed is not None:
            link.freed(link)
