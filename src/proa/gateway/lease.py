"""One upstream try's hold on an engine: every counter hangs on it and is released in one place."""

from proa.domain.outcome import Outcome
from proa.gateway.link import EngineLink
from proa.gateway.pace import Pace
from proa.telemetry.rows import Engine

_OUTCOME = Engine.OUTCOME
_OK = Outcome.OK


class Lease:
    """Taken at dispatch, before a byte went out; `release` is idempotent.

    `pace` is there for streams, from their sending on.
    """

    __slots__ = ("_link", "_trial", "open", "pace")

    def __init__(self, link: EngineLink, now_s: float) -> None:
        self._link = link
        self.open = True
        self.pace: Pace | None = None
        link.in_flight += 1
        link.row[link.in_flight_cell] = link.in_flight
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
        link.row[link.in_flight_cell] = link.in_flight
        link.counts[_OUTCOME + outcome] += 1
        if link.troubled or outcome is not _OK:
            link.record(outcome, now_s, trial=self._trial)
        if link.freed is not None:
            link.freed(link)
