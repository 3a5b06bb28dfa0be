"""The bounded queue: four classes, ageing, deadlines, turns of tenants.

    add       with `victim` saying who would give way if all places are taken
    first     the best that can start now; `take` it when it does
    expired   those whose time has run out

Nothing leaves the queue but by `take`, `expired` and `remove`.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from proa.routing.admission.fairness import OwnShares, Shares
from proa.routing.admission.lane import Lane
from proa.routing.admission.order import ClassKey, OrderKey, class_key
from proa.routing.admission.priority import PRIORITIES
from proa.routing.admission.ticket import Ticket

T = TypeVar("T")
_RANKS = range(len(PRIORITIES))


class AdmissionQueue(Generic[T]):
    """Those who wait in one worker; `tickets` are all of them, by number.

    `waiting` has their number by class. The owner says how many places there are, as
    these are counted over all workers; `shares` are common to all of them, too.
    """

    def __init__(self, ageing_s: float, shares: Shares | None = None) -> None:
        self.ageing_s = ageing_s
        self.shares = OwnShares() if shares is None else shares
        self._lanes: tuple[Lane[T], ...] = tuple(Lane() for _ in _RANKS)
        self.tickets: dict[int, Ticket[T]] = {}
        self._needs: Counter[Hashable] = Counter()
        self._deadlines: list[tuple[float, int]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self.tickets)

    def __iter__(self) -> Iterator[Ticket[T]]:
        return iter(self.tickets.values())

    @property
    def waiting(self) -> tuple[int, ...]:
        """How many wait, by rank."""
        return tuple(map(len, self._lanes))

    @property
    def lanes(self) -> tuple[Lane[T], ...]:
        """Those who wait, by rank."""
        return self._lanes

    @property
    def needs(self) -> frozenset[Hashable]:
        """All that somebody waits for."""
        return frozenset(self._needs)

    def victim(self, ticket: Ticket[T]) -> Ticket[T] | None:
        """Who gives its place to `ticket` when all are taken; None if nobody does.

        The lowest class first, there the tenant with the most for its weight, of that its
        youngest. In the ticket's own class a tenant gives way only to one who has clearly
        less, and a key to another of its tenant in the same way.
        """
        lower = self.last_below(ticket.rank)
        if lower is not None:
            return lower
        return self._lanes[ticket.rank].gives_way_to(ticket, self.shares.weight)

    def last_below(self, rank: int) -> Ticket[T] | None:
        """Of the lowest class after that of `rank`, the youngest of the tenant with the most."""
        for lane in reversed(self._lanes[rank + 1 :]):
            if len(lane):
                return lane.youngest_of_most(self.shares.weight)
        return None

    def add(self, ticket: Ticket[T]) -> None:
        """Let it wait; its age, not the moment of this call, decides its place."""
        self._number += 1
        ticket.number = self._number
        self.tickets[ticket.number] = ticket
        self._lanes[ticket.rank].add(ticket)
        self._needs[ticket.need] += 1
        heappush(self._deadlines, (ticket.deadline_s, ticket.number))

    def first(self, now_s: float, can_start: Callable[[Ticket[T]], bool]) -> Ticket[T] | None:
        """The first in order that can start; a need that cannot be met is asked once."""
        failed: set[Hashable] = set()
        for rank in self._by_order(now_s):
            for ticket in self._lanes[rank].in_turn(self._tag(rank)):
                if ticket.not_before_s > now_s or ticket.need in failed:
                    continue
                if can_start(ticket):
                    return ticket
                failed.add(ticket.need)
                if len(failed) == len(self._needs):
                    return None
        return None

    def head(self, now_s: float) -> Ticket[T] | None:
        """Of the class that is first in order, the oldest of the tenant whose turn it is."""
        ranks = self._by_order(now_s)
        return self._lanes[ranks[0]].first(self._tag(ranks[0])) if ranks else None

    def key(self, ticket: Ticket[T], now_s: float) -> OrderKey:
        """The ticket's place in the order of all workers."""
        tag = self.shares.tag(ticket.tenant, ticket.rank)
        return self.class_key(ticket.rank, now_s), tag, ticket.arrived_s

    def class_key(self, rank: int, now_s: float) -> ClassKey:
        """The class's place by its oldest, here or in another worker; somebody must wait."""
        oldest_s, lane = self.shares.oldest_elsewhere_s(rank), self._lanes[rank]
        if len(lane):
            oldest_s = min(oldest_s, lane.oldest.arrived_s)
        return class_key(rank, oldest_s, now_s, self.ageing_s)

    def ahead_of(self, ticket: Ticket[T]) -> int:
        """How many wait for the same and would go before a new one like this ticket.

        All of higher classes; of its own class those of its key, and of others what their
        turns give them meanwhile.
        """
        need = None if self._needs[ticket.need] == len(self.tickets) else ticket.need
        higher = self._lanes[: ticket.rank]
        own = self._lanes[ticket.rank].ahead_of(ticket, self.shares.weight, need)
        if need is None:
            return own + sum(map(len, higher))
        return own + sum(each.need == need for lane in higher for each in lane)

    def take(self, ticket: Ticket[T]) -> None:
        """It starts now."""
        self._lanes[ticket.rank].take(ticket)
        self.shares.charge(ticket.tenant, ticket.rank, ticket.cost)
        self._forget(ticket)

    def remove(self, ticket: Ticket[T]) -> None:
        """It goes without a start; nothing happens if it is not here."""
        if ticket.number in self.tickets:
            self._lanes[ticket.rank].remove(ticket)
            self._forget(ticket)

    def expired(self, now_s: float) -> list[Ticket[T]]:
        """Remove and return those whose deadline has passed, the earliest first."""
        late = []
        while self._deadlines and self._deadlines[0][0] <= now_s:
            ticket = self.tickets.get(heappop(self._deadlines)[1])
            if ticket is not None:
                self.remove(ticket)
                late.append(ticket)
        return late

    def _by_order(self, now_s: float) -> list[int]:
        """The ranks that somebody waits in, first those whose oldest goes first."""
        ranks = [rank for rank in _RANKS if len(self._lanes[rank])]
        if len(ranks) < 2:
            return ranks
        return sorted(ranks, key=lambda rank: self.class_key(rank, now_s))

    def _tag(self, rank: int) -> Callable[[str], int]:
        return lambda tenant: self.shares.tag(tenant, rank)

    def _forget(self, ticket: Ticket[T]) -> None:
        del self.tickets[ticket.number]
        self._needs[ticket.need] -= 1
        if not self._needs[ticket.need]:
            del self._needs[ticket.need]
        if len(self._deadlines) > 2 * len(self.tickets) + 64:
            self._deadlines = [(t.deadline_s, number) for number, t in self.tickets.items()]
            heapify(self._deadlines)
