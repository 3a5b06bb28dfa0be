"""Nobody is lost, classes go in order until they age, tenants take turns."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from proa.routing.admission.order import class_key
from proa.routing.admission.priority import PRIORITIES, Priority, allowed_priority
from proa.routing.admission.queue import AdmissionQueue
from proa.routing.admission.ticket import Ticket

AGEING_S = 30.0
SYSTEM, INTERACTIVE, DEFAULT, BULK = range(4)

ranks = st.integers(0, 3)
tenants = st.sampled_from("abc")
times = st.floats(0, 100, allow_nan=False)


def ticket(
    name: str, rank: int = DEFAULT, arrived_s: float = 0.0, deadline_s: float = 1e9, **more: object
) -> Ticket[str]:
    return Ticket(owner=name, rank=rank, arrived_s=arrived_s, deadline_s=deadline_s, **more)  # type: ignore[arg-type]


def filled(*tickets: Ticket[str]) -> AdmissionQueue[str]:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S)
    for each in tickets:
        queue.add(each)
    return queue


def taken(queue: AdmissionQueue[str], now_s: float = 1.0, count: int = 1000) -> list[str]:
    """Who starts, one after another."""
    names = []
    for _ in range(count):
        first = queue.first(now_s, lambda _: True)
        if first is None:
            break
        queue.take(first)
        names.append(first.owner)
    return names


def test_classes_go_in_their_order_and_each_by_age() -> None:
    queue = filled(
        ticket("bulk", BULK, 0.0),
        ticket("late", INTERACTIVE, 5.0),
        ticket("early", INTERACTIVE, 4.0),
        ticket("probe", SYSTEM, 6.0),
        ticket("plain", DEFAULT, 1.0),
    )
    assert taken(queue, now_s=10.0) == ["probe", "early", "late", "plain", "bulk"]


def test_after_ageing_a_low_class_goes_before_every_high_one() -> None:
    waiting = (ticket("bulk", BULK, 0.0), ticket("probe", SYSTEM, 29.0))
    assert taken(filled(*waiting), now_s=29.9) == ["probe", "bulk"]
    assert taken(filled(*waiting), now_s=30.0) == ["bulk", "probe"]


def test_under_lasting_overload_classes_do_not_become_all_alike() -> None:
    """All have waited for longer than `ageing_s`: a class still counts."""
    queue = filled(ticket("bulk", BULK, 0.0), ticket("chat", INTERACTIVE, 10.0))
    assert taken(queue, now_s=100.0) == ["chat", "bulk"]


def test_nobody_starves() -> None:
    """A bulk request among endless chat that always waits longer than `ageing_s`."""
    queue = filled(ticket("bulk", BULK, 0.0))
    for second in range(200):
        queue.add(ticket("chat", INTERACTIVE, float(second)))
        if second >= 50 and "bulk" in taken(queue, now_s=float(second), count=1):
            break
    assert 50 < second <= 50 + 61


def test_tenants_of_one_class_take_turns() -> None:
    many = [ticket(f"a{n}", arrived_s=0.0, tenant="a") for n in range(4)]
    few = [ticket(f"b{n}", arrived_s=1.0, tenant="b") for n in range(2)]
    assert taken(filled(*many, *few), now_s=2.0) == ["a0", "b0", "a1", "b1", "a2", "a3"]


def test_costs_are_shared_and_not_starts() -> None:
    dear = [ticket(f"a{n}", tenant="a", cost=3.0) for n in range(10)]
    cheap = [ticket(f"b{n}", tenant="b") for n in range(30)]
    first = Counter(name[0] for name in taken(filled(*dear, *cheap), count=20))
    assert first["b"] in range(13, 18)


def test_who_cannot_start_holds_up_nobody() -> None:
    queue = filled(ticket("first", need="full"), ticket("second", need="free"))
    asked: list[str] = []

    def can_start(each: Ticket[str]) -> bool:
        asked.append(each.owner)
        return each.need == "free"

    first = queue.first(1.0, can_start)
    assert first is not None
    assert first.owner == "second"


def test_a_need_that_cannot_be_met_is_asked_once() -> None:
    queue = filled(*(ticket(str(n), need="full") for n in range(100)))
    asked: list[str] = []

    def never(each: Ticket[str]) -> bool:
        asked.append(each.owner)
        return False

    assert queue.first(1.0, never) is None
    assert asked == ["0"]


def test_who_was_asked_to_pause_starts_after_the_pause() -> None:
    queue = filled(ticket("paused", not_before_s=5.0), ticket("other", BULK))
    assert taken(queue, now_s=4.9) == ["other"]
    assert taken(queue, now_s=5.0) == ["paused"]


def test_expired_are_returned_once() -> None:
    queue = filled(ticket("a", deadline_s=2.0), ticket("b", deadline_s=1.0), ticket("c"))
    assert [each.owner for each in queue.expired(2.0)] == ["b", "a"]
    assert queue.expired(2.0) == []
    assert taken(queue) == ["c"]


def test_the_lowest_class_gives_way_first_and_there_who_has_most() -> None:
    queue = filled(
        ticket("plain"),
        ticket("x", BULK, 0.0, tenant="x"),
        ticket("y0", BULK, 1.0, tenant="y"),
        ticket("y1", BULK, 2.0, tenant="y"),
    )
    victim = queue.victim(ticket("new", INTERACTIVE))
    assert victim is not None
    assert victim.owner == "y1"
    assert queue.victim(ticket("new", BULK, tenant="y")) is None


def test_one_tenant_cannot_fill_the_queue_against_another() -> None:
    queue = filled(*(ticket(str(n), tenant="flood", arrived_s=n) for n in range(8)))
    victim = queue.victim(ticket("new", tenant="other"))
    assert victim is not None
    assert victim.owner == "7"
    assert queue.victim(ticket("new", tenant="flood")) is None


def test_a_higher_class_never_gives_way_to_a_lower_one() -> None:
    assert filled(ticket("chat", INTERACTIVE)).victim(ticket("new", BULK)) is None


def test_how_many_are_ahead() -> None:
    queue = filled(
        ticket("a", SYSTEM, need="x"), ticket("b", BULK, need="x"), ticket("c", need="y")
    )
    assert queue.ahead_of(ticket("new", DEFAULT, need="x")) == 1
    assert queue.ahead_of(ticket("new", BULK, need="x")) == 2
    assert queue.ahead_of(ticket("new", BULK, need="z")) == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "take", "remove", "expire"]),
            ranks, tenants, times, st.floats(0, 40), st.sampled_from(["x", "y", "z"]),
        ),
        max_size=120,
    )
)  # fmt: skip
def test_every_ticket_leaves_exactly_once(
    steps: list[tuple[str, int, str, float, float, str]],
) -> None:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S)
    inside: dict[str, Ticket[str]] = {}
    for number, (what, rank, tenant, at_s, patience_s, need) in enumerate(steps):
        if what == "add":
            new = ticket(
                str(number), rank, at_s, at_s + patience_s, tenant=tenant, need=need,
                cost=1.0 + rank,
            )  # fmt: skip
            victim = queue.victim(new)
            assert victim is None or (victim.owner in inside and victim.rank >= rank)
            queue.add(new)
            inside[new.owner] = new
        elif what == "take":
            first = queue.first(at_s, lambda each, need=need: each.need != need)  # type: ignore[misc]
            startable = [each for each in inside.values() if each.need != need]
            assert (first is None) is not bool(startable)
            if first is not None:
                assert best_class(startable, at_s) == first.rank
                queue.take(first)
                del inside[first.owner]
        elif what == "remove" and inside:
            queue.remove(inside.pop(next(iter(inside))))
        elif what == "expire":
            late = {each.owner for each in queue.expired(at_s)}
            assert late == {name for name, each in inside.items() if each.deadline_s <= at_s}
            for name in late:
                del inside[name]
        assert len(queue) == len(inside) == sum(queue.waiting)
        assert queue.needs == {each.need for each in inside.values()}
        assert queue.waiting == tuple(
            sum(each.rank == rank for each in inside.values()) for rank in range(4)
        )
    assert sorted(taken(queue, 0.0)) == sorted(inside)


def best_class(waiting: list[Ticket[str]], now_s: float) -> int:
    """The class of which the oldest is first in order, as far as each class may start."""
    oldest = {
        rank: min(each.arrived_s for each in waiting if each.rank == rank)
        for rank in {each.rank for each in waiting}
    }
    return min(oldest, key=lambda rank: class_key(rank, oldest[rank], now_s, AGEING_S))


@given(st.lists(st.tuples(tenants, st.floats(0.1, 5.0)), min_size=1, max_size=80))
def test_no_tenant_gets_more_than_its_share_by_more_than_one_ticket(
    asked: list[tuple[str, float]],
) -> None:
    """While two tenants both wait, what they took differs by less than two of the dearest."""
    queue = filled(
        *(ticket(f"{n}", tenant=tenant, cost=cost) for n, (tenant, cost) in enumerate(asked))
    )
    took: Counter[str] = Counter()
    left = Counter(tenant for tenant, _ in asked)
    dearest = max(cost for _, cost in asked)
    while (first := queue.first(1.0, lambda _: True)) is not None:
        queue.take(first)
        took[first.tenant] += first.cost  # type: ignore[assignment]
        left[first.tenant] -= 1
        waiting = [took[tenant] for tenant, count in left.items() if count]
        assert not waiting or max(waiting) - min(waiting) <= 2 * dearest + 1.0


@given(st.sampled_from(PRIORITIES), st.sampled_from(PRIORITIES), st.sampled_from(PRIORITIES))
def test_a_client_raises_its_class_to_that_of_its_key_and_lowers_it_as_it_likes(
    route: Priority, asked: Priority, key: Priority
) -> None:
    assert allowed_priority(route, None, key) is route
    assert allowed_priority(route, asked, None).rank == max(route.rank, asked.rank)
    assert allowed_priority(route, asked, key).rank == max(asked.rank, min(route.rank, key.rank))
