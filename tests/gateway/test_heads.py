"""What workers read of each other's queues."""

from tests.gateway.test_places import link

from proa.gateway.bells import COUNT, Bells
from proa.gateway.heads import Heads, engine_bit
from proa.routing.admission.order import ClassKey
from proa.routing.admission.queue import AdmissionQueue
from proa.routing.admission.ticket import Ticket
from proa.telemetry.rows import MAX_ENGINES, SharedRows, engine_base

AGEING_S = 30.0
A, B = engine_bit(engine_base(0)), engine_bit(engine_base(1))
NOBODY = (0, 0, 0, 0)


def three_workers() -> list[Heads]:
    rows = SharedRows.create(4)
    for index in (1, 2, 3):
        rows.use(index)
    return [Heads(rows, index, rows.others(index)) for index in (1, 2, 3)]


def by_rank(rank: int) -> ClassKey:
    return rank, 0.0


def head(rank: int, arrived_s: float) -> Ticket[str]:
    return Ticket(owner="x", rank=rank, arrived_s=arrived_s, deadline_s=1e9)


def test_the_best_head_that_can_use_the_place() -> None:
    one, two, three = three_workers()
    two.publish(head(2, 5.0), A, (0, 0, 1, 0))
    three.publish(head(1, 6.0), B, (0, 1, 0, 0))
    assert one.best(A | B, by_rank) == (((1, 0.0), 0, 6.0), (3, 6_000_000))
    assert one.best(A, by_rank) == (((2, 0.0), 0, 5.0), (2, 5_000_000))
    assert one.best(0, by_rank) is None
    assert two.best(A, by_rank) is None  # its own does not count


def test_age_counts_by_the_readers_clock() -> None:
    one, two, three = three_workers()
    two.publish(head(3, 5.0), A, (0, 0, 0, 1))
    three.publish(head(0, 6.0), A, (1, 0, 0, 0))
    for heads, waiting in ((two, head(3, 5.0)), (three, head(0, 6.0))):
        queue: AdmissionQueue[str] = AdmissionQueue(AGEING_S)
        queue.add(waiting)
        heads.fair.publish(queue.lanes)
    own: AdmissionQueue[str] = AdmissionQueue(AGEING_S, one.fair)
    (_, first) = one.best(A, lambda rank: own.class_key(rank, 34.0)) or (None, None)
    assert first == (3, 6_000_000)
    (_, first) = one.best(A, lambda rank: own.class_key(rank, 35.5)) or (None, None)
    assert first == (2, 5_000_000)


def test_how_many_wait_elsewhere() -> None:
    one, two, three = three_workers()
    two.publish(head(1, 5.0), A, (0, 2, 0, 3))
    three.publish(None, 0, NOBODY)
    assert (one.anybody, two.anybody) == (True, False)
    assert one.waiting_elsewhere() == 5
    assert one.waiting_elsewhere(below=1) == 3
    assert (one.best_class_elsewhere(), two.best_class_elsewhere()) == (1, 4)


def test_every_engine_has_a_bit_of_a_cell() -> None:
    bits = {engine_bit(engine_base(slot)) for slot in range(MAX_ENGINES)}
    assert len(bits) == 62
    assert max(bits) < 2**63
    assert engine_bit(link().base) == A


def test_a_bell_rings_for_its_row_and_may_be_silenced_twice() -> None:
    bells = Bells.create()
    try:
        bells.ring(5)
        bells.ring(5)
        assert bells.descriptor(5) == bells.descriptor(5 + COUNT) != bells.descriptor(6)
        bells.silence(5)
        bells.silence(5)
        bells.silence(6)
    finally:
        bells.close()
