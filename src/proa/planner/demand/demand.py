"""From a head count to sessions at once and the tokens per second that they need."""

import math
from fractions import Fraction

import msgspec

from proa.errors import FieldError
from proa.planner import bounds as b
from proa.planner.assumptions import Answers, Assumption
from proa.planner.demand.queueing import QueuePlan, QueueSpec, servers_for_wait
from proa.planner.demand.request_time import RequestTimeSpec, Speed, solve_request_time
from proa.planner.demand.spec import TOKENS_PER_S, DemandAnswers, DemandSpec, demand_answers
from proa.planner.demand.steps import DemandNumbers, decode_step, demand_steps
from proa.planner.reckoning import Step


class DemandPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What follows. Without `users` what comes before the sessions is None.

    `mean_sessions` is not rounded, `design_sessions` is rounded up. `design_rule` says what
    decided it: `burst`, `max_wait` or `given`. `steps` show the way with the numbers put in.
    """

    users: float | None
    daily_active_users: float | None
    daily_requests: float | None
    peak_requests_per_hour: float | None
    peak_requests_per_s: float | None
    seconds_per_request: float | None
    mean_sessions: float | None
    design_sessions: int
    design_rule: str
    tokens_per_s: float
    decode_tokens_per_s: float
    queue: QueuePlan | None
    steps: tuple[Step, ...]
    assumptions: tuple[Assumption, ...]


def demand(spec: DemandSpec, speed: Speed | None = None) -> DemandPlan:
    """The demand, exactly: no ceiling is taken of a number that only rounding made larger.

    users x active share x queries x peak-hour share / 3,600 = requests/s;
    x seconds per request = mean sessions (Little's law); x burst factor = design sessions;
    x tokens/s = decode tokens/s.

    `speed` gives one user's tokens/s while so many sessions run; the time per request is then
    solved together with the mean sessions, unless it was given.

    Raises:
        FieldError: a number is outside its range, nobody is asked for, or with `speed` the
            requests come faster than they can be answered.
    """
    if spec.sessions is not None:
        return _of_sessions(spec, int(b.checked("sessions", spec.sessions, b.COUNT)))
    if spec.users is None:
        raise FieldError("users", None, "the number of users, or sessions in their place")
    answers = demand_answers(spec, spec.users)
    numbers = _numbers(answers, speed)
    return DemandPlan(
        users=float(numbers.users),
        daily_active_users=float(numbers.daily_active_users),
        daily_requests=float(numbers.daily_requests),
        peak_requests_per_hour=float(numbers.per_hour),
        peak_requests_per_s=float(numbers.per_s),
        seconds_per_request=float(numbers.seconds),
        mean_sessions=float(numbers.mean_sessions),
        design_sessions=numbers.design_sessions,
        design_rule=numbers.design_rule,
        tokens_per_s=float(answers.tokens_per_s),
        decode_tokens_per_s=float(numbers.design_sessions * answers.tokens_per_s),
        queue=numbers.queue,
        steps=demand_steps(answers, numbers),
        assumptions=answers.assumptions,
    )


def _of_sessions(spec: DemandSpec, sessions: int) -> DemandPlan:
    answers = Answers()
    speed = answers.take(spec.tokens_per_s, TOKENS_PER_S)
    return DemandPlan(
        users=None,
        daily_active_users=None,
        daily_requests=None,
        peak_requests_per_hour=None,
        peak_requests_per_s=None,
        seconds_per_request=None,
        mean_sessions=None,
        design_sessions=sessions,
        design_rule="given",
        tokens_per_s=float(speed),
        decode_tokens_per_s=float(sessions * speed),
        queue=None,
        steps=(decode_step(sessions, speed),),
        assumptions=tuple(answers.assumptions),
    )


def _numbers(answers: DemandAnswers, speed: Speed | None) -> DemandNumbers:
    users = answers.users * answers.growth
    active = users * answers.active_share
    daily = active * answers.queries_per_user
    per_hour = daily * answers.peak_hour_share
    per_s = per_hour / 3600
    seconds, mean, solved_speed = _time_and_sessions(answers, per_s, speed)
    burst = math.ceil(mean * answers.burst_factor) if answers.burst_factor else 0
    queue = _queue(answers, per_s, seconds)
    waiting = queue.servers if queue else 0
    return DemandNumbers(
        users=users,
        daily_active_users=active,
        daily_requests=daily,
        per_hour=per_hour,
        per_s=per_s,
        seconds=seconds,
        mean_sessions=mean,
        burst_sessions=burst or None,
        design_sessions=max(burst, waiting),
        design_rule="max_wait" if waiting > burst else "burst",
        queue=queue,
        solved_speed=solved_speed,
    )


def _time_and_sessions(
    answers: DemandAnswers, per_s: Fraction, speed: Speed | None
) -> tuple[Fraction, Fraction, Fraction | None]:
    """Seconds per request, mean sessions, and the speed that they were solved with."""
    if answers.seconds_per_request is not None:
        seconds = answers.seconds_per_request
        return seconds, per_s * seconds, None
    if speed is None:
        seconds = answers.ttft_s + answers.output_tokens / answers.tokens_per_s
        return seconds, per_s * seconds, None
    solved = solve_request_time(
        RequestTimeSpec(
            requests_per_s=float(per_s),
            ttft_s=float(answers.ttft_s),
            output_tokens=float(answers.output_tokens),
        ),
        speed,
    )
    seconds = Fraction(solved.seconds_per_request).limit_denominator(10**9)
    mean = Fraction(solved.mean_sessions).limit_denominator(10**9)
    return seconds, mean, Fraction(solved.tokens_per_s).limit_denominator(10**9)


def _queue(answers: DemandAnswers, per_s: Fraction, seconds: Fraction) -> QueuePlan | None:
    if answers.max_wait_share is None:
        return None
    return servers_for_wait(
        QueueSpec(
            requests_per_s=float(per_s),
            seconds_per_request=float(seconds),
            max_wait_share=float(answers.max_wait_share),
            max_wait_s=float(answers.max_wait_s),
        )
    )
