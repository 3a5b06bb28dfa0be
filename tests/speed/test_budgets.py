"""The cost of a request and of an event in calls and lines, which no load of the machine moves.

A change that goes over a budget is either mended, or worth it: then say so in the
commit, and record anew as `costs.py` tells. What they mean in CPU time, `make bench`
measures.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.speed.costs import MEASURED, warm_lane
from tests.speed.counting import Cost, blocks_left, cyclic_garbage
from tests.speed.in_memory import Lane

BUDGETS = {
    "json exchange": Cost(calls=84, lines=323),
    "streamed event": Cost(calls=13.7, lines=30.5),
    "streamed exchange": Cost(calls=241, lines=742),
}
REPETITIONS = 256


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    with closing(warm_lane()) as lane:
        yield lane


@pytest.mark.parametrize("name", MEASURED)
def test_it_stays_within_its_budget(lane: Lane, name: str) -> None:
    cost, budget = MEASURED[name](lane), BUDGETS[name]
    assert cost.calls <= budget.calls, cost
    assert cost.lines <= budget.lines, cost


@pytest.mark.parametrize("name", MEASURED)
def test_its_budget_is_not_loose(lane: Lane, name: str) -> None:
    """A gain is kept: the budget follows it down."""
    cost, budget = MEASURED[name](lane), BUDGETS[name]
    assert cost.calls >= 0.8 * budget.calls, cost
    assert cost.lines >= 0.8 * budget.lines, cost


@pytest.mark.parametrize("kind", ["exchange", "stream"])
def test_nothing_is_left_for_the_garbage_collector(lane: Lane, kind: str) -> None:
    assert cyclic_garbage(getattr(lane, kind), 20) == 0


@pytest.mark.parametrize("kind", ["exchange", "stream"])
def test_no_memory_stays_behind(lane: Lane, kind: str) -> None:
    def action() -> None:
        getattr(lane, kind)()
        lane.forget_written()

    # What other tests left to do may take a block meanwhile; a leak takes some every time.
    left = min(blocks_left(action, REPETITIONS) for _ in range(3))
    assert left < REPETITIONS / 10
