"""What an exchange and an event cost now, in calls and lines.

    python -m tests.speed.costs

prints them; `BUDGETS` in test_budgets.py is the highest of them over the supported
versions of Python, plus 5 %.
"""

from contextlib import closing

from tests.speed.counting import Cost, cost_of
from tests.speed.in_memory import Lane

WARM = 3
"""Rounds over all request lengths before anything is counted: memos and tables are full then."""


def warm_lane() -> Lane:
    lane = Lane()
    for _ in range(WARM * lane.lengths):
        lane.exchange()
    for _ in range(WARM * lane.lengths):
        lane.stream()
    lane.forget_written()
    return lane


def json_exchange(lane: Lane) -> Cost:
    """One JSON request, from its bytes to the bytes of its answer."""
    return cost_of(lane.exchange, lane.lengths)


def streamed_event(lane: Lane) -> Cost:
    """One event in the middle of a stream, in a read of its own."""
    engine = lane.start_stream()
    count = lane.stream_events(engine)
    cost = cost_of(lambda: lane.stream_events(engine), 4)
    lane.end_stream(engine)
    return Cost(cost.calls / count, cost.lines / count)


def streamed_exchange(lane: Lane) -> Cost:
    """A stream without any event but its first and its end."""

    def begin_and_end() -> None:
        lane.end_stream(lane.start_stream())

    return cost_of(begin_and_end, lane.lengths)


MEASURED = {
    "json exchange": json_exchange,
    "streamed event": streamed_event,
    "streamed exchange": streamed_exchange,
}


def main() -> None:
    with closing(warm_lane()) as lane:
        for name, measure in MEASURED.items():
            cost = measure(lane)
            print(f"{name:20}{cost.calls:>8.1f} calls{cost.lines:>8.1f} lines")


if __name__ == "__main__":
    main()
