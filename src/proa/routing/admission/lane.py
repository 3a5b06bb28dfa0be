"""The queue of one class: tenants take turns, in a tenant its keys, a key's requests go by age."""

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterator, Sequence
from math import ceil
from typing import Generic, TypeVar

from proa.routing.admission.fairness import after_start
from proa.routing.admission.ticket import Ticket

T = TypeVar("T")
_TAGS_KEPT = 64


class _Turn(Generic[T]):
    """A tenant with something in the lane; its keys have equal parts of what it gets."""

    __slots__ = ("_clock", "_keys", "_tags", "tickets")

    def __init__(self) -> None:
        self.tickets: list[Ticket[T]] = []
        self._keys: dict[str, list[Ticket[T]]] = {}
        self._tags: dict[str, int] = {}
        self._clock = 0

    def add(self, ticket: Ticket[T]) -> None:
        insort(self.tickets, ticket, key=_age)
        own = self._keys.get(ticket.key)
        if own is None:
            own = self._keys[ticket.key] = []
            self._tags.setdefault(ticket.key, self._clock)
        insort(own, ticket, key=_age)

    @property
    def fullest(self) -> list[Ticket[T]]:
        """The tickets of the key that has the most, the oldest first."""
        return max(self._keys.values(), key=len)

    def waiting_of(self, key: str) -> int:
        """How many tickets of a key are here."""
        return len(self._keys.get(key, ()))

    def ahead_of(self, key: str, need: Hashable | None) -> int:
        """How many would go before a new one of a key."""
        mine = _count(self._keys.get(key, ()), need)
        others = (own for name, own in self._keys.items() if name != key)
        return mine + sum(min(_count(own, need), mine + 1) for own in others)

    def in_turn(self) -> Iterator[Ticket[T]]:
        """All tickets in the order in which they may be taken now."""
        if len(self._keys) == 1:
            yield from self.tickets
            return
        for _, own in sorted(self._keys.items(), key=self._place):
            yield from own

    def start(self, ticket: Ticket[T]) -> None:
        """The key has had its turn."""
        times = after_start(self._tags[ticket.key], self._clock, ticket.cost, 1.0)
        self._tags[ticket.key], self._clock = times

    def remove(self, ticket: Ticket[T]) -> None:
        own = self._keys[ticket.key]
        for tickets in (self.tickets, own):
            del tickets[bisect_left(tickets, ticket.age_key, key=_age)]
        if not own:
            del self._keys[ticket.key]
            if len(self._tags) > 2 * len(self._keys) + _TAGS_KEPT:  # the past makes no difference
                kept = self._tags.items()
                self._tags = {k: t for k, t in kept if k in self._keys or t > self._clock}

    def _place(self, item: tuple[str, list[Ticket[T]]]) -> tuple[int, tuple[float, int]]:
        key, own = item
        return self._tags[key], own[0].age_key


class Lane(Generic[T]):
    """Whose turn it is among tenants is said by whoever asks (see `fairness.py`)."""

    def __init__(self) -> None:
        self._tickets: list[Ticket[T]] = []
        self._turns: dict[str, _Turn[T]] = {}

    def __len__(self) -> int:
        return len(self._tickets)

    def __iter__(self) -> Iterator[Ticket[T]]:
        return iter(self._tickets)

    @property
    def oldest(self) -> Ticket[T]:
        return self._tickets[0]

    @property
    def tenants(self) -> dict[str, int]:
        """How many tickets of each tenant are here."""
        return {tenant: len(turn.tickets) for tenant, turn in self._turns.items()}

    def add(self, ticket: Ticket[T]) -> None:
        insort(self._tickets, ticket, key=_age)
        turn = self._turns.get(ticket.tenant)
        if turn is None:
            turn = self._turns[ticket.tenant] = _Turn()
        turn.add(ticket)

    def in_turn(self, tag: Callable[[str], int]) -> Iterator[Ticket[T]]:
        """All tickets in the order in which they may be taken now."""
        for tenant in self._by_turn(tag):
            yield from self._turns[tenant].in_turn()

    def first(self, tag: Callable[[str], int]) -> Ticket[T]:
        """The oldest of the tenant whose turn it is."""
        return self._turns[self._by_turn(tag)[0]].tickets[0]

    def youngest_of_most(self, weight: Callable[[str], float]) -> Ticket[T]:
        """The last ticket of the tenant with the most for its weight, there of its fullest key."""
        turns = self._turns
        most = max(turns, key=lambda tenant: len(turns[tenant].tickets) / weight(tenant))
        return turns[most].fullest[-1]

    def gives_way_to(self, ticket: Ticket[T], weight: Callable[[str], float]) -> Ticket[T] | None:
        """The ticket of another tenant or key that has clearly more here; None without one."""
        if not self._turns:
            return None
        last, own = self.youngest_of_most(weight), self._turns.get(ticket.tenant)
        less = (0 if own is None else len(own.tickets)) + 1
        most = len(self._turns[last.tenant].tickets)
        if last.tenant != ticket.tenant and most * weight(ticket.tenant) > less * weight(
            last.tenant
        ):
            return last
        if own is not None and len(own.fullest) > own.waiting_of(ticket.key) + 1:
            return own.fullest[-1]
        return None

    def ahead_of(
        self, ticket: Ticket[T], weight: Callable[[str], float], need: Hashable | None
    ) -> int:
        """How many would go before a new one like it, of all or of those with one need."""
        own = self._turns.get(ticket.tenant)
        mine = 0 if own is None else own.ahead_of(ticket.key, need)
        rounds = (mine + 1) / weight(ticket.tenant)
        return mine + sum(
            min(_count(turn.tickets, need), ceil(rounds * weight(tenant)))
            for tenant, turn in self._turns.items()
            if tenant != ticket.tenant
        )

    def take(self, ticket: Ticket[T]) -> None:
        """The ticket starts: remove it at its key's expense."""
        self._turns[ticket.tenant].start(ticket)
        self.remove(ticket)

    def remove(self, ticket: Ticket[T]) -> None:
        """The ticket goes without a start."""
        del self._tickets[bisect_left(self._tickets, ticket.age_key, key=_age)]
        turn = self._turns[ticket.tenant]
        turn.remove(ticket)
        if not turn.tickets:
            del self._turns[ticket.tenant]

    def _by_turn(self, tag: Callable[[str], int]) -> list[str]:
        turns = self._turns
        if len(turns) == 1:
            return list(turns)
        return sorted(turns, key=lambda tenant: (tag(tenant), turns[tenant].tickets[0].age_key))


def _count(tickets: Sequence[Ticket[T]], need: Hashable | None) -> int:
    """Those with the need, of a need None all."""
    return len(tickets) if need is None else sum(ticket.need == need for ticket in tickets)


def _age(ticket: Ticket[T]) -> tuple[float, int]:
    return ticket.age_key
