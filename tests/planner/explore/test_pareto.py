import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.planner.explore.pareto import Floats, pareto_front

LOSSES = st.lists(st.tuples(*[st.integers(1, 5)] * 3), max_size=30).map(
    lambda rows: np.array(rows, dtype=np.float64).reshape(-1, 3)
)


def dominates(left: Floats, right: Floats) -> bool:
    return bool((left <= right).all() and (left < right).any())


@given(LOSSES)
@settings(max_examples=40)
def test_the_front_is_what_no_point_dominates(losses: Floats) -> None:
    front = pareto_front(losses)
    best = {tuple(row) for row in losses if not any(dominates(other, row) for other in losses)}
    assert {tuple(losses[at]) for at in front} == best
    assert len(front) == len(best)
    assert list(front) == sorted(front)


@given(LOSSES, st.sampled_from([0.05, 0.5]))
@settings(max_examples=40)
def test_with_a_tolerance_every_point_is_nearly_reached_by_one_of_the_front(
    losses: Floats, tolerance: float
) -> None:
    front = losses[pareto_front(losses, tolerance=tolerance)]
    for row in losses:
        assert (front <= row * (1 + tolerance) * (1 + 1e-9)).all(axis=1).any()


def test_what_is_unknown_loses_to_what_is_known() -> None:
    losses = np.array([[np.inf, 1.0], [5.0, 1.0], [np.inf, 0.5]])
    assert list(pareto_front(losses)) == [1, 2]


@pytest.mark.parametrize(("loss", "tolerance"), [(np.nan, 0.0), (0.0, 0.1)])
def test_a_loss_that_cannot_be_compared_is_refused(loss: float, tolerance: float) -> None:
    with pytest.raises(ValueError, match="loss"):
        pareto_front(np.array([[loss]]), tolerance=tolerance)
