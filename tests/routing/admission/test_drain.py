"""The rate at which places get free, and when to come back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.admission.denial import Denial, denial
from proa.routing.admission.drain import MAX_RETRY_AFTER_S, DrainRate, retry_after_s
from proa.routing.admission.ticket import Ticket


def drained(every_s: float, starts: int) -> DrainRate:
    rate = DrainRate()
    rate.waiting(0.0)
    for n in range(1, starts + 1):
        rate.started(n * every_s)
    return rate


def test_nothing_is_said_before_something_was_seen() -> None:
    assert DrainRate().wait_s(5) is None
    assert drained(1.0, 1).wait_s(5) is None


@given(st.floats(0.01, 5.0))
def test_a_steady_queue(every_s: float) -> None:
    assert drained(every_s, 200).per_s == pytest.approx(1 / every_s, rel=0.05)


def test_an_empty_queue_does_not_slow_the_rate() -> None:
    rate = drained(0.1, 100)
    rate.empty(10.0)
    rate.waiting(1000.0)
    assert rate.per_s == pytest.approx(10.0, rel=0.05)


def test_a_slower_engine_is_noticed() -> None:
    rate = drained(0.1, 300)
    for n in range(1, 60):
        rate.started(30.0 + n)
    assert rate.per_s == pytest.approx(1.0, rel=0.2)


def test_when_to_come_back() -> None:
    assert retry_after_s(None, 5.0, unknown_s=7) == 7
    assert retry_after_s(30.2, 10.0, unknown_s=7) == 21
    assert retry_after_s(1.0, 10.0, unknown_s=7) == 1
    assert retry_after_s(9999.0, 0.0, unknown_s=7) == MAX_RETRY_AFTER_S


@pytest.mark.parametrize(
    ("now_s", "wait_s", "expected"),
    [
        (5.0, None, None),
        (5.0, 4.9, None),
        (5.0, 5.1, Denial.DEADLINE),
        (10.0, None, Denial.SATURATED),
        (10.0, 0.0, Denial.SATURATED),
    ],
)
def test_waiting_that_makes_no_sense(
    now_s: float, wait_s: float | None, expected: Denial | None
) -> None:
    ticket = Ticket(owner="x", rank=2, arrived_s=0.0, deadline_s=10.0)
    assert denial(ticket, now_s, wait_s) is expected
