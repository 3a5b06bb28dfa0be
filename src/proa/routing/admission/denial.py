"""Why a request gets no place in the queue, or loses it."""

from enum import StrEnum

from proa.routing.admission.ticket import T, Ticket


class Denial(StrEnum):
    """The values are those of the label `reason` in the metrics."""

    QUEUE_FULL = "queue_full"
    SHED = "shed"  # its place went to a request of a higher class
    SATURATED = "saturated"  # it does not wait at all
    DEADLINE = "deadline"  # it would not start in time
    EXPIRED = "expired"  # it did not start in time

    @property
    def code(self) -> str:
        """What clients are told."""
        return "queue_full" if self in _NO_PLACE else "wait_too_long"


_NO_PLACE = (Denial.QUEUE_FULL, Denial.SHED)


def denial(ticket: Ticket[T], now_s: float, wait_s: float | None) -> Denial | None:
    """Whether waiting makes no sense; `wait_s` is what it would take, None if not known."""
    patience_s = ticket.deadline_s - now_s
    if patience_s <= 0.0:
        return Denial.SATURATED
    if wait_s is not None and wait_s > patience_s:
        return Denial.DEADLINE
    return None
