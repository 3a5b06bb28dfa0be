"""Those of one worker's requests that wait for a place.

    takes    a request that found no place waits here, or is told to come back
    pauses   an engine wants to be asked again later, and there is no other
    leave    the client left, or the exchange ended otherwise

Who starts is decided in `turns.py`. A place gets free in this worker, in another one,
which rings our bell, or unseen: while somebody waits, a tick of 20 ms looks by itself.
"""

from typing import TYPE_CHECKING

from proa.gateway.heads import Heads
from proa.gateway.settings import AdmissionSettings
from proa.gateway.tickets import may_wait, need_of, new_ticket, patience_s
from proa.gateway.turned_away import turn_away
from proa.gateway.turns import TICK_S, Turns
from proa.routing.admission.denial import Denial, denial
from proa.routing.admission.drain import DrainRates
from proa.routing.admission.queue import AdmissionQueue
from proa.routing.admission.ticket import Ticket
from proa.routing.decision import Refusal, RouteMatch

if TYPE_CHECKING:
    from proa.gateway.exchange import Exchange
    from proa.gateway.plane import DataPlane


class WaitingRoom:
    """The queue of one worker; `turns` says who of it starts."""

    def __init__(self, plane: "DataPlane", heads: Heads) -> None:
        settings = AdmissionSettings()
        self.heads = heads
        self._plane = plane
        self._queue: AdmissionQueue[Exchange] = AdmissionQueue(settings.ageing_s, heads.fair)
        self._queue_size = settings.queue_size
        self._allowed = settings.queue_size
        self._drains = DrainRates()
        self._is_ticking = False
        self.turns = Turns(plane, self._queue, heads, self._drains)

    # generations

    def configure(self, settings: AdmissionSettings) -> None:
        """New settings; whoever waits stays."""
        self._queue.ageing_s = settings.ageing_s
        self._queue_size = settings.queue_size
        self._allowed = max(settings.queue_size, self._total)
        self.turns.places.total = settings.max_concurrent_requests

    def rematch(self) -> None:
        """The fleet or the routes changed: look again for the engines of all who wait."""
        for ticket in list(self._queue):
            exchange = ticket.owner
            self._remove(ticket)
            exchange.rematch()
            if not exchange.is_over:
                ticket.need = need_of(exchange)
                self._add(ticket)
        self.turns.publish()

    @property
    def is_waited_in(self) -> bool:
        """Whether somebody waits, here or in another worker."""
        return bool(self._queue.tickets) or self.heads.anybody

    # who comes and goes

    def takes(self, exchange: "Exchange", refusal: Refusal) -> bool:
        """Let a refused request wait, start it in its order, or turn it away in our terms.

        False leaves it refused: it is not for want of a place, or nobody has said that
        it may wait for an engine.
        """
        terms = refusal.waiting
        if terms is None or not may_wait(exchange, refusal):
            return False
        ticket = new_ticket(exchange, terms)
        self._add(ticket)
        if self.turns.is_calling:  # its place was gone again; it has waited before
            return True
        self.turns.take()
        if exchange.ticket is ticket:
            self._keep(ticket)
        return True

    def pauses(self, exchange: "Exchange", match: RouteMatch, seconds: float) -> bool:
        """Whether a request waits until its engine wants to be asked again."""
        until_s = self._plane.clock() + seconds
        patience = patience_s(exchange, match.waiting)
        if patience is None or until_s > exchange.started_s + patience:
            return False
        if not self._plane.retry_budget.withdraw():
            return False
        self._add(new_ticket(exchange, match.waiting, not_before_s=until_s))
        self.turns.publish()
        return True

    def leave(self, ticket: "Ticket[Exchange]") -> None:
        """Its exchange ended without a start."""
        self._remove(ticket)
        self.turns.publish()

    def rung(self) -> None:
        """Another worker says that we may have a place."""
        self.heads.silence()
        self.turns.take()

    def sweep(self) -> None:
        """Whose time has run out; who is too many; who can start and was not told."""
        if not len(self._queue):
            return
        for ticket in self._queue.expired(self._plane.clock()):
            self._deny(ticket, Denial.EXPIRED)
        self._shed()
        self.turns.take(is_patient=False)

    def _keep(self, ticket: "Ticket[Exchange]") -> None:
        """Now that it cannot start: whether it may wait, and at whose expense."""
        self._queue.remove(ticket)
        ahead = self._queue.ahead_of(ticket) + 1
        reason = denial(ticket, self._plane.clock(), self._drains.wait_s(ticket.need, ahead))
        victim: Ticket[Exchange] | None = None
        if reason is None and self._total >= self._queue_size:
            victim = self._queue.victim(ticket)
            if victim is None and not self.heads.waiting_elsewhere(below=ticket.rank):
                reason = Denial.QUEUE_FULL
        self._queue.add(ticket)
        if reason is not None:
            self._deny(ticket, reason)
        elif victim is not None:
            self._deny(victim, Denial.SHED)
        self.turns.publish()

    def _shed(self) -> None:
        """The lowest go where more wait than may, since a higher class came elsewhere."""
        self._allowed = max(self._queue_size, min(self._allowed, self._total))
        best = self.heads.best_class_elsewhere()
        while self._total > self._allowed:
            victim = self._queue.last_below(best)
            if victim is None:
                return
            self._deny(victim, Denial.SHED)

    def _deny(self, ticket: "Ticket[Exchange]", reason: Denial) -> None:
        ahead = self._queue.ahead_of(ticket)
        self._remove(ticket)
        turn_away(ticket, reason, self._drains.wait_s(ticket.need, ahead))

    @property
    def _total(self) -> int:
        return len(self._queue) + self.heads.waiting_elsewhere()

    def _add(self, ticket: "Ticket[Exchange]") -> None:
        ticket.owner.ticket = ticket
        self._queue.add(ticket)
        self._drains.waiting(ticket.need, self._plane.clock())
        self._tick_later()

    def _remove(self, ticket: "Ticket[Exchange]") -> None:
        ticket.owner.ticket = None
        self._queue.remove(ticket)
        self._drains.keep(self._queue.needs, self._plane.clock())

    def _tick_later(self) -> None:
        if not self._is_ticking:
            self._is_ticking = True
            self._plane.loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._is_ticking = False
        self.sweep()
        if len(self._queue):
            self._tick_later()
