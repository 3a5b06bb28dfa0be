"""From users to tokens per second: the worked example, exactness, and what is refused."""

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.errors import FieldError
from proa.planner.demand.demand import DemandPlan, demand
from proa.planner.demand.spec import DemandSpec

GOLDEN = Path(__file__).with_name("golden")
EXAMPLE = {
    "users": 3000,
    "active_share": 0.3,
    "queries_per_user": 8,
    "peak_hour_share": 0.2,
    "seconds_per_request": 20,
    "burst_factor": 3,
    "tokens_per_s": 30,
}


def planned(**changes: float | None) -> DemandPlan:
    return demand(DemandSpec(**EXAMPLE | changes))  # type: ignore[arg-type]


def test_the_worked_example_comes_out_exactly() -> None:
    plan = planned()
    assert plan.daily_active_users == 900
    assert plan.daily_requests == 7200
    assert plan.peak_requests_per_hour == 1440
    assert plan.peak_requests_per_s == 0.4
    assert plan.mean_sessions == 8
    assert plan.design_sessions == 24
    assert plan.decode_tokens_per_s == 720
    assert (plan.design_rule, plan.assumptions, plan.queue) == ("burst", (), None)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_every_step_is_shown_with_its_formula_and_numbers(language: str) -> None:
    lines = [step.line(language) for step in planned().steps]
    golden = GOLDEN / f"demand.{language}.txt"
    assert "\n".join(lines) + "\n" == golden.read_text(encoding="utf-8")


def test_mean_sessions_are_not_rounded_and_design_sessions_up() -> None:
    plan = planned(seconds_per_request=20.5)
    assert (plan.mean_sessions, plan.design_sessions) == (8.2, 25)


@given(
    users=st.integers(1, 10**6),
    active=st.integers(1, 100),
    queries=st.integers(1, 500),
    peak=st.integers(1, 100),
    seconds=st.integers(1, 3000),
    burst=st.integers(10, 100),
)
@settings(max_examples=50)
def test_a_ceiling_is_taken_of_the_exact_number(
    users: int, active: int, queries: int, peak: int, seconds: int, burst: int
) -> None:
    plan = demand(
        DemandSpec(
            users=users,
            active_share=active / 100,
            queries_per_user=queries / 10,
            peak_hour_share=peak / 100,
            seconds_per_request=seconds / 10,
            burst_factor=burst / 10,
            tokens_per_s=30,
        )
    )
    wanted = Fraction(users * active * queries * peak * seconds, 100 * 10 * 100 * 10 * 3600)
    assert plan.mean_sessions == float(wanted)
    assert plan.design_sessions == math.ceil(wanted * Fraction(burst, 10))


def test_growth_multiplies_the_users() -> None:
    plan = planned(growth_per_year=0.2, years=2)
    assert plan.users == 4320
    assert plan.steps[0].filled == "3,000 × (1 + 20 %)^2"
    assert planned(growth_per_year=0.2).users == 3600  # one year where none is said
    assert planned(years=5).users == 3000
    assert planned(growth_per_year=0.21, years=0.5).users == pytest.approx(3300)


def test_the_time_follows_from_ttft_output_and_speed_where_it_is_not_given() -> None:
    plan = planned(seconds_per_request=None, ttft_s=2, output_tokens=540)
    assert plan.seconds_per_request == 20
    assert plan.design_sessions == 24
    (step,) = [step for step in plan.steps if step.key == "seconds_per_request"]
    assert (step.filled, step.result) == ("2 + 540 ÷ 30", 20)


def test_a_speed_that_depends_on_the_load_is_solved_with_the_sessions() -> None:
    spec = DemandSpec(**EXAMPLE | {"seconds_per_request": None, "ttft_s": 2, "output_tokens": 500})  # type: ignore[arg-type]
    plan = demand(spec, speed=lambda sessions: 1 / (0.02 + 0.002 * sessions))
    # L = 0.4 (2 + 500 (0.02 + 0.002 L)) = 4.8 + 0.4 L = 8
    assert plan.mean_sessions == pytest.approx(8)
    assert plan.seconds_per_request == pytest.approx(20)
    assert plan.design_sessions == 24
    with pytest.raises(FieldError, match="pile up without end"):
        demand(spec, speed=lambda sessions: 100 / (1 + sessions))


def test_a_wait_alone_decides_by_erlang_c() -> None:
    plan = planned(burst_factor=None, max_wait_share=0.05, max_wait_s=1)
    assert plan.queue is not None
    assert plan.design_sessions == plan.queue.servers == 14
    assert plan.design_rule == "max_wait"
    assert plan.steps[-2].filled == "min c: P(wait > 1 s; c, 8) ≤ 5 %"


def test_a_wait_beside_a_burst_factor_takes_the_larger() -> None:
    low, high = (planned(burst_factor=f, max_wait_share=0.05, max_wait_s=1) for f in (1, 3))
    assert (low.design_sessions, low.design_rule) == (14, "max_wait")
    assert (high.design_sessions, high.design_rule) == (24, "burst")
    for plan in (low, high):
        assert {"design_sessions", "decode_tokens_per_s"} < {step.key for step in plan.steps}
    assert "queue_sessions" in {step.key for step in high.steps}


def test_sessions_in_place_of_users() -> None:
    plan = demand(DemandSpec(sessions=24, tokens_per_s=30))
    assert (plan.design_sessions, plan.decode_tokens_per_s) == (24, 720)
    assert (plan.users, plan.mean_sessions, plan.design_rule) == (None, None, "given")
    assert [step.filled for step in plan.steps] == ["24 × 30"]


def test_what_was_not_said_is_assumed_and_told_once() -> None:
    plan = demand(DemandSpec(users=3000))
    assert [told.field for told in plan.assumptions] == [
        "active_share", "queries_per_user", "peak_hour_share", "ttft_s", "output_tokens",
        "tokens_per_s", "burst_factor",
    ]  # fmt: skip
    first = plan.assumptions[0]
    assert first.value == 0.3
    assert first.text.en == "30 % of the users are active on a day"
    assert first.text.ko == "하루에 전체 사용자의 30 %가 이용한다고 가정"
    assert [told.field for told in demand(DemandSpec(sessions=3)).assumptions] == ["tokens_per_s"]
    waiting = demand(DemandSpec(**EXAMPLE | {"max_wait_s": 2}))  # type: ignore[arg-type]
    assert [told.field for told in waiting.assumptions] == ["max_wait_share"]


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("users", 0, "a number above 0"),
        ("users", None, "the number of users, or sessions in their place"),
        ("active_share", 1.2, "a share above 0 and up to 1"),
        ("active_share", 0, "a share above 0 and up to 1"),
        ("queries_per_user", -8, "a number above 0"),
        ("peak_hour_share", 20, "a share above 0 and up to 1"),
        ("seconds_per_request", 0, "a number above 0"),
        ("tokens_per_s", math.nan, "a number above 0"),
        ("burst_factor", 0.5, "a factor from 1"),
        ("growth_per_year", -1, "a share a year above -1"),
        ("max_wait_share", 0, "a share above 0"),
        ("max_wait_s", -1, "a number from 0"),
        ("ttft_s", -1, "a number from 0"),
        ("output_tokens", 0, "a number above 0"),
        ("sessions", 0, "a whole number from 1"),
        ("sessions", 2.5, "a whole number from 1"),
    ],
)
def test_a_wrong_answer_is_refused_with_its_field(
    field: str, value: float | None, accepted: str
) -> None:
    with pytest.raises(FieldError) as refused:
        planned(**{field: value})
    assert refused.value.field == field
    assert refused.value.accepted.startswith(accepted)
