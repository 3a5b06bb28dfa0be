"""Who starts next: the first of those that can, over the queues of all workers.

Where this worker's first could start but another worker's first goes before it, that
worker is woken and has until the next tick; a place that it cannot use is not lost.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from proa.gateway.heads import Heads, Seen, engine_bit
from proa.gateway.link import EngineLink
from proa.gateway.places import Places
from proa.routing.admission.drain import DrainRates
from proa.routing.admission.order import OrderKey
from proa.routing.admission.queue import AdmissionQueue
from proa.routing.admission.ticket import Ticket
from proa.routing.decision import RouteMatch
from proa.telemetry.rows import Header, observe_wait

if TYPE_CHECKING:
    from proa.gateway.dispatcher import Dispatcher
    from proa.gateway.exchange import Exchange
    from proa.gateway.plane import DataPlane

TICK_S = 0.02
_ANY_ENGINE = (1 << 62) - 1


class Turns:
    """`is_limited` is false while nobody can lack a place; then nobody asks here."""

    def __init__(
        self, plane: "DataPlane", queue: "AdmissionQueue[Exchange]", heads: Heads,
        drains: DrainRates,
    ) -> None:  # fmt: skip
        self.is_limited = False
        self.is_calling = False
        self.places = Places()
        self._plane = plane
        self._queue = queue
        self._heads = heads
        self._drains = drains
        self._is_due = False
        self._told: set[Seen] = set()
        self._told_at_s = 0.0

    def places_changed(self) -> None:
        """Engines, their caps or their loads are others now."""
        dispatcher = self._plane.dispatcher
        self.places.apply(dispatcher.links, dispatcher.loads.views)
        self.is_limited = self.places.is_limited
        for link in dispatcher.links:
            link.freed = self._freed if self.is_limited else None
        self.take()

    def barred(
        self, dispatcher: "Dispatcher", match: RouteMatch, tried: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """Engines that a request must not get now, with those tried; None if it must wait."""
        places, heads, links = self.places, self._heads, dispatcher.links
        in_flight = dispatcher.loads.in_flight
        waited_for = self._queue.tickets or (heads.other_rows and heads.anybody)
        if waited_for and not self.is_calling:
            return None  # the order decides
        for index in match.pool:
            if in_flight[index] >= links[index].cap:
                break
        else:
            if not places.total or sum(in_flight) < places.total:
                return tried
        untried = [i for i in match.pool if i not in tried]
        if not untried:
            return tried
        free = places.free(links, untried, in_flight, dispatcher.loads.shares)
        return tuple(i for i in match.pool if i not in free) if free else None

    def is_full(self, dispatcher: "Dispatcher") -> bool:
        """Whether all engines together have as many requests as they may."""
        total = self.places.total
        return bool(total) and sum(dispatcher.in_flight()) >= total

    def take(self, *, is_patient: bool = True) -> None:
        """Start all that can; `is_patient` lets other workers' heads go first."""
        if self.is_calling:
            return
        self.is_calling = True
        try:
            while (ticket := self._queue.first(self._plane.clock(), self._can_start)) is not None:
                if is_patient and self._lets_pass(ticket):
                    break
                self._start(ticket)
                if ticket.owner.ticket is not None:  # another worker was faster
                    break
            else:
                self._pass_on()
        finally:
            self.is_calling = False
            self.publish()

    def publish(self) -> None:
        """Tell the other workers who is first here, and for which engines somebody waits."""
        queue = self._queue
        head = queue.head(self._plane.clock())
        bits = 0
        if head is not None:
            waiting: Iterable[Ticket[Exchange]] = queue if len(queue.needs) > 1 else (head,)
            for ticket in {ticket.need: ticket for ticket in waiting}.values():
                match = ticket.owner.match
                bits |= _bits(ticket.owner, match.pool if match is not None else ())
        self._heads.fair.publish(queue.lanes)
        self._heads.publish(head, bits, queue.waiting)

    def _freed(self, link: EngineLink) -> None:
        """A place of an engine got free in this worker."""
        if self._queue.tickets:
            if not self._is_due:
                self._is_due = True
                self._plane.loop.call_soon(self._take_soon)
        elif self._heads.other_rows and self._heads.anybody:
            self._wake_best(_ANY_ENGINE if self.places.total else engine_bit(link.base))

    def _take_soon(self) -> None:
        self._is_due = False
        self.take()

    def _can_start(self, ticket: "Ticket[Exchange]") -> bool:
        return bool(self._free(ticket.owner))

    def _free(self, exchange: "Exchange") -> list[int]:
        """The engines on which an exchange could start now."""
        match, dispatcher = exchange.match, exchange.dispatcher
        if match is None:
            return []
        pool = [i for i in match.pool if i not in exchange.tried]
        in_flight, shares = dispatcher.in_flight(), dispatcher.loads.shares
        return self.places.free(dispatcher.links, pool, in_flight, shares)

    def _start(self, ticket: "Ticket[Exchange]") -> None:
        exchange, now_s = ticket.owner, self._plane.clock()
        self._queue.take(ticket)
        exchange.ticket = None
        exchange.queued_s += now_s - ticket.queued_at_s
        try:
            exchange.dispatch()
        except Exception as error:  # one that fails must not keep the others from their turn
            self._plane.loop.call_exception_handler({"message": "turn", "exception": error})
            exchange.connection.transport.abort()
        if exchange.ticket is None:
            self._drains.started(ticket.need, now_s)
            observe_wait(self._plane.counts, int(exchange.queued_s * 1e6))
        self._drains.keep(self._queue.needs, now_s)

    # the other workers

    def _lets_pass(self, ticket: "Ticket[Exchange]") -> bool:
        """Whether another worker's head goes before a ticket that could start here."""
        if not self._heads.anybody:
            return False
        now_s = self._plane.clock()
        free = _bits(ticket.owner, self._free(ticket.owner))
        best = self._best(free, now_s)
        if best is None or best[0] >= self._queue.key(ticket, now_s):
            return False
        return self._tell(best[1])

    def _pass_on(self) -> None:
        """Nobody here can start any more; places that are left may be of use to another."""
        if not self._heads.anybody:
            return
        dispatcher = self._plane.dispatcher
        in_flight, free = dispatcher.in_flight(), 0
        if self.places.total and sum(in_flight) >= self.places.total:
            return
        for index, link in enumerate(dispatcher.links):
            if in_flight[index] < link.cap:
                free |= engine_bit(link.base)
        best = self._best(free, self._plane.clock())
        if best is not None:
            self._tell(best[1])

    def _tell(self, seen: Seen) -> bool:
        """Wake a worker for its head, once in a tick: it may have no use for the place."""
        now_s = self._plane.clock()
        if now_s - self._told_at_s >= TICK_S:
            self._told.clear()
            self._told_at_s = now_s
        if seen in self._told:
            return False
        self._told.add(seen)
        self._wake(seen)
        return True

    def _wake_best(self, free: int) -> None:
        best = self._best(free, self._plane.clock())
        if best is not None:
            self._wake(best[1])

    def _best(self, free: int, now_s: float) -> tuple[OrderKey, Seen] | None:
        """The other workers' first for one of the `free` engines."""
        return self._heads.best(free, lambda rank: self._queue.class_key(rank, now_s))

    def _wake(self, seen: Seen) -> None:
        self._plane.counts[Header.WAKE_UPS] += 1
        self._heads.wake(seen[0])


def _bits(exchange: "Exchange", indexes: Iterable[int]) -> int:
    """Engines of an exchange's fleet, as all workers know them."""
    links, bits = exchange.dispatcher.links, 0
    for index in indexes:
        bits |= engine_bit(links[index].base)
    return bits
