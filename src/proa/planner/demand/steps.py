"""The way from users to tokens per second, step by step, with the numbers put in."""

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from proa.planner.demand import texts as t
from proa.planner.demand.queueing import QueuePlan
from proa.planner.demand.spec import DemandAnswers
from proa.planner.reckoning import Step
from proa.planner.text import percent, written


class DemandNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The exact numbers behind a `DemandPlan`; `solved_speed` where a speed was solved with."""

    users: Fraction
    daily_active_users: Fraction
    daily_requests: Fraction
    per_hour: Fraction
    per_s: Fraction
    seconds: Fraction
    mean_sessions: Fraction
    burst_sessions: int | None
    design_sessions: int
    design_rule: str
    queue: QueuePlan | None
    solved_speed: Fraction | None


def demand_steps(answers: DemandAnswers, numbers: DemandNumbers) -> tuple[Step, ...]:
    """Every step that was taken, in order."""
    return (
        *_users_steps(answers, numbers),
        *_time_steps(answers, numbers),
        *_session_steps(answers, numbers),
        decode_step(numbers.design_sessions, answers.tokens_per_s),
    )


def decode_step(sessions: int, tokens_per_s: Fraction) -> Step:
    """The last step, which is the only one where sessions were given."""
    filled = f"{written(sessions)} × {written(tokens_per_s)}"
    return _step("decode_tokens_per_s", filled, sessions * tokens_per_s)


def _users_steps(a: DemandAnswers, n: DemandNumbers) -> Iterator[Step]:
    if a.growth != 1:
        rate, years = percent(a.growth_per_year), written(a.years)
        filled = f"{written(a.users)} × (1 + {rate})^{years}"
        yield _step("users", filled, n.users)
    filled = f"{written(n.users)} × {percent(a.active_share)}"
    yield _step("daily_active_users", filled, n.daily_active_users)
    filled = f"{written(n.daily_active_users)} × {written(a.queries_per_user)}"
    yield _step("daily_requests", filled, n.daily_requests)
    filled = f"{written(n.daily_requests)} × {percent(a.peak_hour_share)}"
    yield _step("peak_requests_per_hour", filled, n.per_hour)
    yield _step("peak_requests_per_s", f"{written(n.per_hour)} ÷ 3,600", n.per_s)


def _time_steps(a: DemandAnswers, n: DemandNumbers) -> Iterator[Step]:
    if a.seconds_per_request is not None:
        return
    speed = a.tokens_per_s if n.solved_speed is None else n.solved_speed
    filled = f"{written(a.ttft_s)} + {written(a.output_tokens)} ÷ {written(speed)}"
    yield _step("seconds_per_request", filled, n.seconds)


def _session_steps(a: DemandAnswers, n: DemandNumbers) -> Iterator[Step]:
    filled = f"{written(n.per_s)} × {written(n.seconds)}"
    yield _step("mean_sessions", filled, n.mean_sessions)
    if a.burst_factor is not None and n.burst_sessions is not None:
        filled = f"⌈{written(n.mean_sessions)} × {written(a.burst_factor)}⌉"
        key = "design_sessions" if n.design_rule == "burst" else "burst_sessions"
        yield _step(key, filled, n.burst_sessions)
    if a.max_wait_share is not None and n.queue is not None:
        load, share = written(n.queue.offered_erlangs), percent(a.max_wait_share)
        filled = f"min c: P(wait > {written(a.max_wait_s)} s; c, {load}) ≤ {share}"
        key = "design_sessions" if n.design_rule == "max_wait" else "queue_sessions"
        yield _step(key, filled, n.queue.servers, by="queue_sessions")


def _step(key: str, filled: str, result: float | Fraction, *, by: str | None = None) -> Step:
    texts = t.STEPS[by or key]
    return Step(
        key=key,
        name=t.STEPS[key].name,
        formula=texts.formula,
        filled=filled,
        result=float(result),
        unit=texts.unit,
    )
