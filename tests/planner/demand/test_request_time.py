"""Little's law with a speed that depends on the load: where both agree, or that they never do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.errors import FieldError
from proa.planner.demand.request_time import RequestTimeSpec, solve_request_time


def spec_of(rate: float) -> RequestTimeSpec:
    return RequestTimeSpec(requests_per_s=rate, ttft_s=2.0, output_tokens=500)


@given(rate=st.floats(0.001, 3.9), base_s=st.floats(0.005, 0.1), each_s=st.floats(0, 0.0005))
@settings(max_examples=25)
def test_a_step_time_is_solved_in_closed_form(rate: float, base_s: float, each_s: float) -> None:
    # L = rate (ttft + out (a + b L)) is linear: L = rate (ttft + out a) / (1 - rate out b).
    plan = solve_request_time(spec_of(rate), lambda n: 1 / (base_s + each_s * n))
    wanted = rate * (2 + 500 * base_s) / (1 - rate * 500 * each_s)
    assert plan.mean_sessions == pytest.approx(wanted, rel=1e-8)
    assert plan.mean_sessions == pytest.approx(rate * plan.seconds_per_request, rel=1e-8)


def test_the_first_of_two_meeting_points_is_taken() -> None:
    # Slow from 100 sessions on: 10 sessions agree, and so do many more.
    plan = solve_request_time(spec_of(0.4), lambda n: 500 / 23 if n < 100 else 0.5)
    assert plan.mean_sessions == pytest.approx(0.4 * 25)


def test_a_steady_speed_is_met_at_once() -> None:
    plan = solve_request_time(spec_of(0.4), lambda n: 500 / 18)
    assert plan.seconds_per_request == pytest.approx(20)
    assert plan.mean_sessions == pytest.approx(8)
    assert plan.tokens_per_s == pytest.approx(500 / 18)


@pytest.mark.parametrize(
    "speed", [lambda n: 100 / (1 + n), lambda n: 0.0, lambda n: 1 / (n + 1) ** 2]
)
def test_more_requests_than_can_be_answered_are_told(speed: object) -> None:
    with pytest.raises(FieldError, match="sessions pile up without end") as refused:
        solve_request_time(spec_of(0.4), speed)  # type: ignore[arg-type]
    assert refused.value.field == "requests_per_s"
