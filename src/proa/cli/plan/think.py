"""A plan thought through, from what was asked to what may be promised."""

from collections.abc import Iterator

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.calibrate import Calibration, calibration_of
from proa.cli.plan.demand import demand_of
from proa.cli.plan.lengths import Lengths, lengths_of
from proa.cli.plan.measured_speed import RunsView, runs_view
from proa.cli.plan.money import Bill, bill_of
from proa.cli.plan.options import other_seats
from proa.cli.plan.place import (
    Seat,
    best_of,
    need_of,
    seat_of,
    speed_at,
    speed_of_all,
    start_of,
)
from proa.cli.plan.promise import Promise, promise_of
from proa.cli.plan.search import first_promise, promised
from proa.cli.plan.subject import Subject, catalogue_of, gpu_of, subject_of
from proa.domain.gpu import GpuSpec
from proa.errors import FieldError
from proa.planner.demand.demand import DemandPlan
from proa.planner.demand.spec import TOKENS_PER_S
from proa.planner.place.need import NeedSpec
from proa.planner.place.reverse import ReversePlan


class Thought(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a plan came to, before it is told in a language.

    `seat` is the placement, `seats` the same need on other GPUs as well. `reverse` is there
    where only GPUs were given, and its first promise is what the rest of the plan is about.
    """

    asked: PlanAsked
    lengths: Lengths
    demand: DemandPlan | None
    solved: DemandPlan | None
    subject: Subject | None
    gpu: GpuSpec | None
    seat: Seat | None
    seats: tuple[Seat, ...]
    reverse: ReversePlan | None
    bill: Bill
    promise: Promise | None
    calibration: Calibration
    measured: RunsView

    @property
    def sessions(self) -> int | None:
        """Sessions to plan for."""
        return None if self.demand is None else self.demand.design_sessions

    @property
    def gpus(self) -> int:
        """GPUs that are paid for."""
        placed = self.seat is not None and self.seat.plan is not None
        return (
            self.seat.plan.gpus if placed and self.seat and self.seat.plan else _given(self.asked)
        )

    @property
    def aggregate_tokens_per_s(self) -> float | None:
        """Speed of all sessions: as measured, else as planned."""
        if self.asked.aggregate_tokens_per_s is not None:
            return self.asked.aggregate_tokens_per_s
        return _planned_speed(self.seat)


def think(asked: PlanAsked) -> Thought:
    """Demand, model, placement, cost and promise of what was asked.

    Raises:
        InputError: a value, a model, a GPU or a layout that cannot be used.
    """
    lengths = lengths_of(asked)
    rows = catalogue_of(asked)
    subject = subject_of(asked, rows=rows)
    gpu = None if asked.gpu is None else gpu_of(asked.gpu, rows=rows)
    calibration = calibration_of(asked)
    need = need_of(asked, lengths, asked.sessions or 1, asked.tokens_per_s)
    measured = runs_view(asked, calibration.runs, subject, gpu, need)
    reverse = _reversed(asked, lengths, subject, gpu, measured)
    if reverse is not None:
        asked, lengths = _of_promise(asked, lengths, reverse)
    plan = demand_of(asked, lengths)
    seats: list[Seat] = []
    if plan is not None and subject is not None:
        need = need_of(asked, lengths, plan.design_sessions, plan.tokens_per_s)
        measured = runs_view(asked, calibration.runs, subject, gpu, need)
        seats = _seats(asked, need, subject, gpu, (calibration, measured))
    seat = seats[0] if seats else None
    subject = seat.subject if seat is not None else subject
    gpu = seat.gpu if seat is not None else gpu
    promise = None
    if plan is not None:
        load = (plan.design_sessions, plan.tokens_per_s)
        promise = promise_of(asked, lengths, load, subject, seat)
    speed = asked.aggregate_tokens_per_s or _planned_speed(seat)
    gpus = seat.plan.gpus if seat is not None and seat.plan is not None else _given(asked)
    is_placed = seat is None or seat.plan is not None
    return Thought(
        asked=asked,
        lengths=lengths,
        demand=plan,
        solved=_solved(asked, lengths, plan, seat),
        subject=subject,
        gpu=gpu,
        seat=seat,
        seats=tuple(seats),
        reverse=reverse,
        bill=bill_of(
            asked, gpu=gpu if is_placed else None, gpus=gpus, aggregate_tokens_per_s=speed
        ),
        promise=promise,
        calibration=calibration,
        measured=measured,
    )


def _seats(
    asked: PlanAsked,
    need: NeedSpec,
    subject: Subject,
    gpu: GpuSpec | None,
    known: tuple[Calibration, RunsView],
) -> list[Seat]:
    """The placement first, then the same need on other GPUs."""
    if gpu is None:
        return []
    chosen = best_of(
        [_calibrated_seat(asked, each, gpu, need, known) for each in _allowed(asked, subject)]
    )
    return [chosen, *(each for each in other_seats(asked, chosen) if each is not chosen)]


def _calibrated_seat(
    asked: PlanAsked,
    subject: Subject,
    gpu: GpuSpec,
    need: NeedSpec,
    known: tuple[Calibration, RunsView],
) -> Seat:
    """The placement at the speed measured; after a boot log in its layout, with what it took."""
    calibration, measured = known
    start = start_of(asked, subject, gpu)
    start = msgspec.structs.replace(start, max_model_len=need.context_tokens)
    logged = calibration.logged(start, tp=asked.tp, pp=asked.pp)
    if logged is None:
        return seat_of(asked, subject, gpu, need, speed=measured.speed)
    split = logged.layout
    asked = msgspec.structs.replace(asked, tp=split.tensor_parallel, pp=split.pipeline_parallel)
    seat = seat_of(asked, subject, gpu, need, logged.measured, measured.speed)
    return msgspec.structs.replace(seat, doubts=logged.doubts)


def _allowed(asked: PlanAsked, subject: Subject) -> Iterator[Subject]:
    """The model in each precision that quality allows and nobody fixed."""
    weights = asked.allow_weights if asked.weights is None else ()
    caches = asked.allow_kv if asked.kv_dtype is None else ()
    for field, chosen, allowed in (
        ("weights", asked.weights, asked.allow_weights),
        ("kv_dtype", asked.kv_dtype, asked.allow_kv),
    ):
        if chosen is not None and allowed and chosen not in allowed:
            raise FieldError(field, chosen, f"one that quality allows: {', '.join(allowed)}")
    for name in weights or (subject.weights,):
        for kv in caches or (None,):
            yield subject.in_precision(name, kv)


def _reversed(
    asked: PlanAsked,
    lengths: Lengths,
    subject: Subject | None,
    gpu: GpuSpec | None,
    measured: RunsView,
) -> ReversePlan | None:
    """What GPUs can promise, where neither users nor sessions were asked for."""
    if asked.users is not None or asked.sessions is not None or asked.gpus is None:
        return None
    if subject is None or gpu is None:
        return None
    speed = asked.tokens_per_s or TOKENS_PER_S.value
    return promised(asked, lengths, next(_allowed(asked, subject)), gpu, speed, measured.speed)


def _of_promise(asked: PlanAsked, lengths: Lengths, plan: ReversePlan) -> tuple[PlanAsked, Lengths]:
    """The question that the first promise answers."""
    promise = first_promise(plan, lengths.context_tokens)
    if promise is None:
        return asked, lengths
    if promise.context_tokens != lengths.context_tokens:
        inputs = promise.context_tokens - lengths.output_tokens
        lengths = msgspec.structs.replace(
            lengths, input_tokens=inputs, context_tokens=promise.context_tokens
        )
    return msgspec.structs.replace(asked, sessions=promise.sessions), lengths


def _solved(
    asked: PlanAsked, lengths: Lengths, plan: DemandPlan | None, seat: Seat | None
) -> DemandPlan | None:
    """The demand again with the time per request that the placement really takes."""
    is_timed = asked.seconds_per_request is not None
    if plan is None or plan.users is None or is_timed or seat is None or seat.plan is None:
        return None
    try:
        return demand_of(asked, lengths, lambda n: speed_at(seat, max(n, 1.0)).user_tokens_per_s)
    except FieldError:  # requests come faster than this placement answers: `meets` says so
        return None


def _planned_speed(seat: Seat | None) -> float | None:
    if seat is None or seat.plan is None:
        return None
    return speed_of_all(seat.plan, seat.spec.need.sessions)


def _given(asked: PlanAsked) -> int:
    return asked.gpus or 1
