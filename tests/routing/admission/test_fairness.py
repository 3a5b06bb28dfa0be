"""Shares go as weights, places never idle, nobody starves, nobody saves up for later."""

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proa.routing.admission.fairness import UNIT, OwnShares, after_start
from proa.routing.admission.queue import AdmissionQueue
from proa.routing.admission.ticket import Ticket

AGEING_S = 30.0
weights = st.dictionaries(
    st.sampled_from("abcde"), st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.5]), min_size=2
)


def ticket(
    tenant: str, key: str = "", rank: int = 2, at_s: float = 0.0, **more: Any
) -> Ticket[str]:
    return Ticket(
        owner=tenant, rank=rank, arrived_s=at_s, deadline_s=1e9, tenant=tenant, key=key, **more
    )


def queue_of(shares: OwnShares, counts: dict[str, int]) -> AdmissionQueue[str]:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S, shares)
    for tenant, count in counts.items():
        for _ in range(count):
            queue.add(ticket(tenant))
    return queue


def start(queue: AdmissionQueue[str], now_s: float = 1.0) -> Ticket[str] | None:
    first = queue.first(now_s, lambda _: True)
    if first is not None:
        queue.take(first)
    return first


def test_a_start_costs_by_weight_and_from_the_time_of_the_class() -> None:
    assert after_start(0, 0, 1.0, 1.0) == (UNIT, 0)
    assert after_start(5 * UNIT, 2 * UNIT, 1.0, 2.0) == (5 * UNIT + UNIT // 2, 5 * UNIT)
    assert after_start(0, 9 * UNIT, 3.0, 1.0) == (12 * UNIT, 9 * UNIT)
    assert after_start(0, 0, 0.0, 1.0)[0] > 0  # time goes on whatever it costs


@settings(max_examples=30)
@given(weights)
def test_the_shares_of_those_who_wait_are_their_weights(weight: dict[str, float]) -> None:
    """At every moment, by at most one request each (Goyal et al., theorem 1)."""
    queue = queue_of(OwnShares(weight), dict.fromkeys(weight, 60))
    took: Counter[str] = Counter()
    while all(len(lane.tenants) in (0, len(weight)) for lane in queue.lanes):
        first = start(queue)
        assert first is not None
        took[first.tenant] += 1
        for one, own in weight.items():
            for other, its in weight.items():
                apart = took[one] / own - took[other] / its
                assert apart <= 1 / own + 1 / its + 1e-6


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "take"]), st.sampled_from("abc"), st.sampled_from("kl"),
            st.integers(0, 3), st.sampled_from(["x", "y"]), st.floats(0.1, 9.0),
        ),
        max_size=100,
    )
)  # fmt: skip
def test_a_place_that_somebody_can_use_is_used(
    steps: list[tuple[str, str, str, int, str, float]],
) -> None:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S, OwnShares({"a": 5.0}))
    left: Counter[str] = Counter()
    for number, (what, tenant, key, rank, need, cost) in enumerate(steps):
        if what == "add":
            queue.add(ticket(tenant, key, rank, float(number), need=need, cost=cost))
            left[need] += 1
        else:
            first = queue.first(float(number), lambda each, need=need: each.need == need)  # type: ignore[misc]
            assert (first is not None) is bool(left[need])
            if first is not None:
                queue.take(first)
                left[need] -= 1


@settings(max_examples=25)
@given(st.sampled_from([0.5, 1.0, 4.0]), st.integers(0, 300))
def test_one_with_ten_thousand_does_not_starve_one_with_one(weight: float, before: int) -> None:
    """Whenever the other comes, it starts next but one at the latest."""
    queue = queue_of(OwnShares({"flood": weight}), {"flood": before + 2})
    for _ in range(before):
        start(queue)
    queue.add(ticket("small", at_s=1.0))
    assert "small" in [start(queue).tenant for _ in range(2)]  # type: ignore[union-attr]


def test_ten_thousand_in_the_queue() -> None:
    queue = queue_of(OwnShares(), {"flood": 10_000, "small": 20})
    started = [start(queue).tenant for _ in range(41)]  # type: ignore[union-attr]
    assert started.count("small") == 20


@given(st.integers(1, 200))
def test_who_was_away_has_saved_up_nothing(away: int) -> None:
    shares = OwnShares()
    queue = queue_of(shares, {"a": away + 40, "b": 1})
    for _ in range(away):  # b starts once and is away for the rest
        start(queue)
    for _ in range(20):
        queue.add(ticket("b", at_s=2.0))
    took = Counter(start(queue).tenant for _ in range(20))  # type: ignore[union-attr]
    assert abs(took["a"] - took["b"]) <= 2


def test_a_tenant_on_a_slow_engine_does_not_keep_others_from_it() -> None:
    """The class's time runs ahead with a fast engine; a newcomer on the slow one has its turn."""
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S, OwnShares())
    for number in range(200):
        queue.add(ticket("fast", need="fast", at_s=number))
        queue.add(ticket("slow", need="slow", at_s=number))
    for _ in range(150):
        first = queue.first(1.0, lambda each: each.need == "fast")
        assert first is not None
        queue.take(first)
    for _ in range(20):
        queue.add(ticket("new", need="slow", at_s=500.0))
    took: list[str] = []
    for _ in range(20):
        first = queue.first(1.0, lambda each: each.need == "slow")
        assert first is not None
        queue.take(first)
        took.append(first.tenant)
    assert 8 <= took.count("new") <= 12


def test_the_keys_of_a_tenant_have_equal_parts_of_its_share() -> None:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S, OwnShares())
    for key, count in (("k", 100), ("l", 20), ("m", 20)):
        for _ in range(count):
            queue.add(ticket("a", key))
    for _ in range(100):
        queue.add(ticket("b", "n"))
    took = Counter(start(queue).key for _ in range(60))  # type: ignore[union-attr]
    assert took == {"k": 10, "l": 10, "m": 10, "n": 30}


def test_a_key_that_always_comes_back_has_no_more_than_its_part() -> None:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S, OwnShares())
    for _ in range(100):
        queue.add(ticket("a", "many"))
    took: Counter[str] = Counter()
    for number in range(100):
        if not any(each.key == "again" for each in queue):
            queue.add(ticket("a", "again", at_s=float(number)))
        took[start(queue).key] += 1  # type: ignore[union-attr]
    assert 45 <= took["again"] <= 55


def test_ageing_goes_by_class_and_in_the_class_by_turn() -> None:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S, OwnShares())
    queue.add(ticket("chat", rank=1, at_s=25.0))
    for number in range(3):
        queue.add(ticket("old", rank=3, at_s=number))
    queue.add(ticket("young", rank=3, at_s=29.0))
    assert [start(queue, 29.0).tenant, start(queue, 40.0).tenant] == ["chat", "old"]  # type: ignore[union-attr]
    assert start(queue, 40.0).tenant == "young"  # type: ignore[union-attr]


def test_weights_count_where_the_queue_is_full() -> None:
    queue = queue_of(OwnShares({"big": 4.0}), {"big": 6, "small": 2})
    victim = queue.victim(ticket("big"))
    assert victim is not None
    assert victim.tenant == "small"
    assert queue.victim(ticket("small")) is None


def test_a_key_gives_way_to_another_of_its_tenant() -> None:
    queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S, OwnShares())
    for number in range(8):
        queue.add(ticket("a", "flood", at_s=number))
    victim = queue.victim(ticket("a", "other"))
    assert victim is not None
    assert victim.arrived_s == 7
    assert queue.victim(ticket("a", "flood")) is None


def test_a_flood_of_another_is_no_long_wait() -> None:
    """Who estimates its wait by the queue counts the others' turns and not all that they have."""
    queue = queue_of(OwnShares({"heavy": 3.0}), {"flood": 500, "heavy": 500, "few": 2})
    assert queue.ahead_of(ticket("new")) == 1 + 1 + 3
    assert queue.ahead_of(ticket("few")) == 2 + 3 + 9
    assert queue.ahead_of(ticket("new", rank=3)) == 1002
    for _ in range(9):
        queue.add(ticket("few", key="other"))
    assert queue.ahead_of(ticket("few")) == (2 + 3) + 6 + 18
    assert queue.ahead_of(ticket("few", need="y")) == 0


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 30), min_size=2),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([0.5, 1.0, 2.0])),
    st.sampled_from("abc"),
)
def test_the_estimate_is_right_by_a_round(
    counts: dict[str, int], weight: dict[str, float], tenant: str
) -> None:
    queue = queue_of(OwnShares(weight), counts)
    estimate = queue.ahead_of(ticket(tenant))
    last = ticket(tenant, at_s=9.0)
    queue.add(last)
    before = 0
    while (first := start(queue)) is not last:
        before += first is not None
    round_of_all = sum(weight.get(t, 1.0) for t in "abc") / weight.get(tenant, 1.0)
    assert abs(before - estimate) <= round_of_all + 2
