"""What tenants have had, as workers tell each other in their rows."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from proa.gateway.fair_rows import FairRows, tenant_bit
from proa.gateway.settings import TenantSpec
from proa.routing.admission.fairness import UNIT
from proa.routing.admission.queue import AdmissionQueue
from proa.routing.admission.ticket import Ticket
from proa.telemetry.rows import MAX_TENANTS, SharedRows, Tenant, tenant_base

SLOTS = {"default": 0, "a": 1, "b": 2, "far": 63}


def two_workers() -> tuple[SharedRows, FairRows, FairRows]:
    rows = SharedRows.create(3)
    for index in (1, 2):
        rows.use(index)
    one, two = (FairRows(rows, index, rows.others(index)) for index in (1, 2))
    for fair in (one, two):
        fair.configure(SLOTS, (TenantSpec(name="a"), TenantSpec(name="b", weight=2.0)))
    return rows, one, two


def queue(fair: FairRows, *tenants: str, at_s: float = 1.0) -> AdmissionQueue[str]:
    made: AdmissionQueue[str] = AdmissionQueue(30.0, fair)
    for tenant in tenants:
        made.add(Ticket(owner=tenant, rank=2, arrived_s=at_s, deadline_s=1e9, tenant=tenant))
    fair.publish(made.lanes)
    return made


def test_a_start_in_one_worker_counts_in_all() -> None:
    _, one, two = two_workers()
    one.charge("a", 2, 1.0)
    two.charge("a", 2, 1.0)
    one.charge("b", 2, 1.0)
    assert (one.tag("a", 2), two.tag("a", 2)) == (2 * UNIT, 2 * UNIT)
    assert two.tag("b", 2) == UNIT + UNIT // 2  # from the class's time, at twice the weight
    assert two.tag("b", 1) == 0


def test_what_a_worker_that_ended_knew_stays() -> None:
    rows, one, two = two_workers()
    for _ in range(5):
        two.charge("a", 2, 1.0)
    rows.retire(2)
    assert one.tag("a", 2) == 5 * UNIT
    one.charge("b", 2, 1.0)
    assert one.tag("b", 2) == 4 * UNIT + UNIT // 2
    assert rows.total(tenant_base(1) + Tenant.STARTED) == 5


def test_whose_turn_it_is_elsewhere_is_seen_without_being_told_again() -> None:
    rows, one, two = two_workers()
    queue(two, "a", "b")
    assert one.least_tag(rows.rows[2], 2) == 0
    one.charge("a", 2, 1.0)
    assert one.least_tag(rows.rows[2], 2) == 0  # b's
    one.charge("b", 2, 4.0)
    assert one.least_tag(rows.rows[2], 2) == UNIT  # a's
    assert one.least_tag(rows.rows[2], 1) == 0


def test_tenants_that_share_a_bit_are_told_apart() -> None:
    rows, one, two = two_workers()
    assert tenant_bit(63) == tenant_bit(1)
    one.charge("far", 2, 7.0)
    queue(two, "far")
    assert one.least_tag(rows.rows[2], 2) == 7 * UNIT  # a, who does not wait, is at 0
    assert tenant_bit(MAX_TENANTS - 1) < 1 << 63


def test_the_oldest_of_a_class_and_who_waits_are_published_and_taken_back() -> None:
    rows, one, two = two_workers()
    waiting = queue(two, "a", "a", "b", at_s=5.0)
    assert one.oldest_elsewhere_s(2) == 5.0
    assert one.oldest_elsewhere_s(1) == inf == two.oldest_elsewhere_s(2)
    assert rows.in_flight(tenant_base(1) + Tenant.WAITING) == 2
    for ticket in list(waiting):
        waiting.remove(ticket)
    two.publish(waiting.lanes)
    assert one.oldest_elsewhere_s(2) == inf
    assert not any(rows.in_flight(tenant_base(slot) + Tenant.WAITING) for slot in range(3))


def test_a_tenant_that_was_removed_keeps_its_time_while_it_waits() -> None:
    _, one, _ = two_workers()
    one.charge("b", 2, 1.0)
    one.configure({"default": 0, "a": 1}, (TenantSpec(name="a"),))
    assert (one.tag("b", 2), one.weight("b")) == (UNIT // 2, 1.0)


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ab")), max_size=60))
def test_two_workers_order_as_one_would(steps: list[tuple[int, str]]) -> None:
    _, *pair = two_workers()
    _, alone, _ = two_workers()
    for worker, tenant in steps:
        pair[worker].charge(tenant, 2, 1.0)
        alone.charge(tenant, 2, 1.0)
        assert [fair.tag(t, 2) for fair in pair for t in "ab"] == [
            alone.tag(t, 2) for _ in pair for t in "ab"
        ]
