"""What each tenant has had of the places: weighted fair turns within a class.

    start of a request   s = max(the tenant's time, the class's time)
    after its start      the tenant's time is s + cost / weight, the class's time is s

The tenant with the smallest time goes next. While tenants wait, starts go as their weights.
Who was away comes back at the class's time: its one request goes first, and no credit is left.

Source:
    Goyal, Vin & Cheng 1997, Start-time fair queueing, IEEE/ACM Transactions on
    Networking 5(5). A tenant that could not start, as its engine was full, comes back as if it
    had been away.
"""

from abc import ABC, abstractmethod
from math import inf

UNIT = 1 << 20
"""Of virtual time: a request of cost 1 of a tenant with weight 1."""


def after_start(tag: int, clock: int, cost: float, weight: float) -> tuple[int, int]:
    """The tenant's and the class's time after a start."""
    start = max(tag, clock)
    return start + max(1, round(cost * UNIT / weight)), start


class Shares(ABC):
    """The times of one class and tenant each, common to all who fill the same places.

    `rank` is that of the class.
    """

    @abstractmethod
    def tag(self, tenant: str, rank: int) -> int:
        """The tenant's virtual time; never falls."""

    @abstractmethod
    def weight(self, tenant: str) -> float:
        """Its part beside others."""

    @abstractmethod
    def charge(self, tenant: str, rank: int, cost: float) -> None:
        """A request of the tenant has started."""

    @abstractmethod
    def oldest_elsewhere_s(self, rank: int) -> float:
        """Since when somebody waits in another queue for the same places; inf for nobody."""


class OwnShares(Shares):
    """Of one queue that shares its places with no other."""

    def __init__(self, weights: dict[str, float] | None = None) -> None:
        self._weights = weights or {}
        self._tags: dict[tuple[str, int], int] = {}
        self._clocks: dict[int, int] = {}

    def tag(self, tenant: str, rank: int) -> int:
        return self._tags.get((tenant, rank), 0)

    def weight(self, tenant: str) -> float:
        return self._weights.get(tenant, 1.0)

    def charge(self, tenant: str, rank: int, cost: float) -> None:
        times = after_start(
            self.tag(tenant, rank), self._clocks.get(rank, 0), cost, self.weight(tenant)
        )
        self._tags[tenant, rank], self._clocks[rank] = times

    def oldest_elsewhere_s(self, rank: int) -> float:
        return inf
