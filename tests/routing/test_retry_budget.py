"""Retries stay a share of the traffic."""

from hypothesis import given
from hypothesis import strategies as st

from proa.routing.retry_budget import RetryBudget


@given(steps=st.lists(st.booleans(), max_size=400), share=st.floats(0.0, 1.0))
def test_retries_never_exceed_the_share_and_the_floor(steps: list[bool], share: float) -> None:
    budget, requests, retries = RetryBudget(share), 0, 0
    for is_request in steps:
        if is_request:
            budget.deposit()
            requests += 1
        else:
            retries += budget.withdraw()
        assert retries <= 10 + share * requests + 1e-6


def test_the_first_failures_may_be_retried() -> None:
    budget = RetryBudget(0.1)
    assert [budget.withdraw() for _ in range(11)] == [True] * 10 + [False]


def test_a_quiet_day_saves_up_no_storm() -> None:
    budget = RetryBudget(0.5, capacity=20.0)
    for _ in range(1000):
        budget.deposit()
    assert sum(budget.withdraw() for _ in range(1000)) == 20
