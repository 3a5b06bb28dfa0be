"""What each tenant has had of the places, kept in the shared rows for all workers.

A time has a cell in every row, and the latest of them counts. Two workers that start a
request of one tenant in the same instant may count one of them; that is all that can be lost.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from proa.gateway.settings import TenantSpec
from proa.routing.admission.fairness import Shares, after_start
from proa.routing.admission.lane import Lane, T
from proa.telemetry.rows import LINE_AT, Line, SharedRows, Tenant, tenant_base

_BITS = 62
_US_PER_S = 1e6
_DEFAULT_SLOT = 0


def tenant_bit(slot: int) -> int:
    """The bit of a tenant; far-apart tenants share one."""
    return 1 << slot % _BITS


class FairRows(Shares):
    """One worker's view; `other_rows` are those of the other workers, and change with them."""

    def __init__(self, rows: SharedRows, row_index: int, other_rows: Sequence[memoryview]) -> None:
        self._kept = rows.rows[0]
        self._row = rows.rows[row_index]
        self.other_rows = other_rows
        self._slots: dict[str, int] = {}
        self._weights: dict[str, float] = {}
        self._by_bit: dict[int, list[int]] = {1: [_DEFAULT_SLOT]}
        self._told: dict[str, int] = {}

    def configure(self, slots: Mapping[str, int], tenants: Iterable[TenantSpec]) -> None:
        """Other tenants or weights; those that left keep their cells while they wait."""
        self._slots |= slots
        self._weights = {spec.name: spec.weight for spec in tenants}
        self._by_bit = {1: [_DEFAULT_SLOT]}
        for slot in sorted({*self._slots.values()} - {_DEFAULT_SLOT}):
            self._by_bit.setdefault(tenant_bit(slot), []).append(slot)

    def tag(self, tenant: str, rank: int) -> int:
        return self._latest(self._base(tenant) + Tenant.TAG + rank)

    def weight(self, tenant: str) -> float:
        return self._weights.get(tenant, 1.0)

    def charge(self, tenant: str, rank: int, cost: float) -> None:
        base, clock_cell = self._base(tenant), LINE_AT + Line.CLOCK + rank
        tag, clock = self.tag(tenant, rank), self._latest(clock_cell)
        row = self._row
        row[base + Tenant.TAG + rank], clock = after_start(tag, clock, cost, self.weight(tenant))
        row[clock_cell] = max(row[clock_cell], clock)
        row[base + Tenant.STARTED] += 1

    def oldest_elsewhere_s(self, rank: int) -> float:
        cell = LINE_AT + Line.OLDEST_US + rank
        return min((row[cell] for row in self.other_rows if row[cell]), default=inf) / _US_PER_S

    def publish(self, lanes: Sequence[Lane[T]]) -> None:
        """Tell the other workers who waits here."""
        row, waiting = self._row, dict.fromkeys(self._told, 0)
        for rank, lane in enumerate(lanes):
            oldest_us, bits = 0, 0
            if len(lane):
                oldest_us = int(lane.oldest.arrived_s * _US_PER_S)
                for tenant, count in lane.tenants.items():
                    bits |= tenant_bit(self._slots.get(tenant, _DEFAULT_SLOT))
                    waiting[tenant] = waiting.get(tenant, 0) + count
            row[LINE_AT + Line.TENANTS + rank] = bits
            row[LINE_AT + Line.OLDEST_US + rank] = oldest_us
        for tenant, count in waiting.items():
            row[self._base(tenant) + Tenant.WAITING] = count
        self._told = {tenant: count for tenant, count in waiting.items() if count}

    def least_tag(self, row: memoryview, rank: int) -> int:
        """The time of the tenant of a class whose turn it is in another worker's queue."""
        bits, tags = row[LINE_AT + Line.TENANTS + rank], []
        while bits:
            bit = bits & -bits
            bits ^= bit
            slots = self._by_bit.get(bit, ())
            for slot in slots:
                base = tenant_base(slot)
                if len(slots) == 1 or row[base + Tenant.WAITING]:
                    tags.append(self._latest(base + Tenant.TAG + rank))
        return min(tags, default=0)

    def _base(self, tenant: str) -> int:
        return tenant_base(self._slots.get(tenant, _DEFAULT_SLOT))

    def _latest(self, cell: int) -> int:
        latest = max(self._kept[cell], self._row[cell])
        for row in self.other_rows:
            latest = max(latest, row[cell])
        return latest
