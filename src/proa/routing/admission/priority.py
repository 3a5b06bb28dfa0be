"""The four classes of requests, and how long each may wait."""

from enum import StrEnum

import msgspec


class Priority(StrEnum):
    """From the first to be served to the last; `SYSTEM` is for probes and operators."""

    SYSTEM = "system"
    INTERACTIVE = "interactive"
    DEFAULT = "default"
    BULK = "bulk"

    @property
    def rank(self) -> int:
        """0 is served first."""
        return _RANKS[self]


PRIORITIES = tuple(Priority)
_RANKS = {priority: rank for rank, priority in enumerate(PRIORITIES)}


class WaitingTerms(msgspec.Struct, frozen=True):
    """How the requests of a route wait for a place.

    `max_wait_s` is from the request's arrival to its start; 0 never waits, None leaves
    it to the client and to the limit of the whole request.
    """

    priority: Priority = Priority.DEFAULT
    max_wait_s: float | None = None


def allowed_priority(route: Priority, asked: Priority | None, key: Priority | None) -> Priority:
    """The class of a request whose client asked for one.

    A client may lower its class as it likes, and raise it up to the class of its key;
    what it asks for above that is cut to what it may have.
    """
    if asked is None or asked is route:
        return route
    highest = route if key is None else min(route, key, key=lambda each: each.rank)
    return not_above(asked, highest)


def not_above(priority: Priority, ceiling: Priority) -> Priority:
    """The class, or the ceiling if it would be above that."""
    return max(priority, ceiling, key=lambda each: each.rank)
