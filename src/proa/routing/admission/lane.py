"""The queue of one class: tenants take turns, each tenant's requests go by age."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from proa.routing.admission.ticket import Ticket

T = TypeVar("T")
QUANTUM = 1.0


class _Turn(Generic[T]):
    """A tenant with something in the lane; `deficit` is what it may still take."""

    __slots__ = ("deficit", "has_quantum", "tickets")

    def __init__(self) -> None:
        self.deficit = 0.0
        self.has_quantum = False  # that of this round
        self.tickets: list[Ticket[T]] = []


class Lane(Generic[T]):
    """Deficit round robin over tenants.

    A tenant whose turn it is takes until its deficit is used up; each round gives it
    `QUANTUM`. Who has nothing waiting keeps no deficit.

    Source:
        Shreedhar & Varghese 1996, Efficient fair queuing using deficit round robin,
        IEEE/ACM Transactions on Networking 4(3).
    """

    def __init__(self) -> None:
        self._tickets: list[Ticket[T]] = []
        self._turns: dict[str, _Turn[T]] = {}
        self._round: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._tickets)

    def __iter__(self) -> Iterator[Ticket[T]]:
        return iter(self._tickets)

    @property
    def oldest(self) -> Ticket[T]:
        return self._tickets[0]

    def waiting_of(self, tenant: str) -> int:
        """How many tickets of a tenant are here."""
        turn = self._turns.get(tenant)
        return 0 if turn is None else len(turn.tickets)

    def add(self, ticket: Ticket[T]) -> None:
        insort(self._tickets, ticket, key=_age)
        turn = self._turns.get(ticket.tenant)
        if turn is None:
            turn = self._turns[ticket.tenant] = _Turn()
            self._round.append(ticket.tenant)
        insort(turn.tickets, ticket, key=_age)

    def in_turn(self) -> Iterator[Ticket[T]]:
        """All tickets in the order in which they may be taken now."""
        self._settle()
        for tenant in self._round:
            yield from self._turns[tenant].tickets

    def youngest_of_most(self) -> Ticket[T]:
        """The last ticket of the tenant that has the most here: the one to do without."""
        return max(self._turns.values(), key=lambda turn: len(turn.tickets)).tickets[-1]

    def take(self, ticket: Ticket[T]) -> None:
        """The ticket starts: remove it at its tenant's expense."""
        turn = self._turns[ticket.tenant]
        turn.deficit -= ticket.cost
        self.remove(ticket)
        if turn.tickets and self._round[0] != ticket.tenant:  # out of its turn: its turn is over
            self._end_turn(ticket.tenant)

    def remove(self, ticket: Ticket[T]) -> None:
        """The ticket goes without a start."""
        turn = self._turns[ticket.tenant]
        for tickets in (self._tickets, turn.tickets):
            del tickets[bisect_left(tickets, ticket.age_key, key=_age)]
        if not turn.tickets:
            del self._turns[ticket.tenant]
            self._round.remove(ticket.tenant)

    def _settle(self) -> None:
        """Bring a tenant to the front that can pay for its next ticket."""
        while self._round:
            turn = self._turns[self._round[0]]
            if turn.deficit >= turn.tickets[0].cost:
                return
            if turn.has_quantum:
                self._end_turn(self._round[0])
            else:
                turn.has_quantum = True
                turn.deficit += QUANTUM

    def _end_turn(self, tenant: str) -> None:
        self._turns[tenant].has_quantum = False
        self._round.remove(tenant)
        self._round.append(tenant)


def _age(ticket: Ticket[T]) -> tuple[float, int]:
    return ticket.age_key
