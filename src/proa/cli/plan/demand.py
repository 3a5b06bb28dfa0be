"""The demand of a plan: from users, or sessions as given; None where nobody asks for either."""

from typing import Any

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.lengths import Lengths
from proa.planner.demand.demand import DemandPlan, demand
from proa.planner.demand.request_time import Speed
from proa.planner.demand.spec import DemandSpec
from proa.planner.reckoning import Step

Json = dict[str, Any]
_KEYS = (
    "users",
    "daily_active_users",
    "daily_requests",
    "peak_requests_per_hour",
    "peak_requests_per_s",
    "seconds_per_request",
    "mean_sessions",
    "design_sessions",
    "design_rule",
    "tokens_per_s",
    "decode_tokens_per_s",
)


def demand_of(asked: PlanAsked, lengths: Lengths, speed: Speed | None = None) -> DemandPlan | None:
    """The demand; `sessions`, where given, stand in place of the users.

    With a `speed` of so many sessions the time per request is solved together with them.

    Raises:
        FieldError: a number is outside its range.
    """
    if asked.users is None and asked.sessions is None:
        return None
    return demand(
        DemandSpec(
            users=asked.users,
            active_share=asked.active_share,
            queries_per_user=asked.queries_per_user,
            peak_hour_share=asked.peak_hour_share,
            seconds_per_request=asked.seconds_per_request,
            ttft_s=asked.ttft_p95_s,
            output_tokens=lengths.output_tokens,
            tokens_per_s=asked.tokens_per_s,
            burst_factor=asked.burst_factor,
            max_wait_share=asked.max_wait_share,
            max_wait_s=asked.max_wait_s,
            growth_per_year=asked.growth_per_year,
            years=asked.years,
            sessions=asked.sessions,
        ),
        speed,
    )


def demand_document(plan: DemandPlan | None, solved: DemandPlan | None, language: str) -> Json:
    """The numbers and their steps; `solved` is the same load at the speed of the placement."""
    if plan is None:
        return {**dict.fromkeys(_KEYS), "queue": None, "solved": None, "steps": []}
    told: Json = {key: getattr(plan, key) for key in _KEYS}
    told["queue"] = None if plan.queue is None else msgspec.structs.asdict(plan.queue)
    told["solved"] = None
    if solved is not None:
        told["solved"] = {
            key: getattr(solved, key)
            for key in ("seconds_per_request", "mean_sessions", "design_sessions")
        }
    told["steps"] = [step_document(step, language) for step in plan.steps]
    return told


def step_document(step: Step, language: str) -> Json:
    """One line of a reckoning, in the plan's language."""
    return {
        "key": step.key,
        "name": step.name.say(language),
        "formula": step.formula.say(language),
        "filled": step.filled,
        "result": step.result,
        "unit": step.unit.say(language),
    }
