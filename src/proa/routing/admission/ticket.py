"""A place in the queue."""

from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Ticket(msgspec.Struct, Generic[T], kw_only=True, eq=False):
    """Somebody who waits, the `owner`, and all that the order depends on.

    `rank` is that of the priority. Tenants take turns by their weights, and in a tenant its
    keys, the `key` of each request.
    Times are on one monotonic clock: `arrived_s`, `queued_at_s`, `deadline_s` (not started
    by then, it is of no use), `not_before_s` (an engine asked for a pause). Tickets of one
    `need` can start on the same engines: when one cannot, none can. `cost` is what the start
    takes from the tenant's share and the key's. `number` is the queue's.
    """

    owner: T
    rank: int
    arrived_s: float
    deadline_s: float
    tenant: str = ""
    key: str = ""
    need: Hashable = None
    queued_at_s: float = 0.0
    not_before_s: float = 0.0
    cost: float = 1.0
    number: int = 0

    @property
    def age_key(self) -> tuple[float, int]:
        """Older first; of two of the same moment the one that was queued first."""
        return self.arrived_s, self.number
