"""Where the model goes and how fast it is there: placement, its speed by sessions, other GPUs."""

from typing import Any

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.lengths import Lengths
from proa.cli.plan.subject import Subject
from proa.domain.gpu import GpuSpec
from proa.planner.fit.spec import FitPlan, FitSpec, MeasuredMemory, MemoryLine
from proa.planner.layout import LayoutSpec
from proa.planner.place.layouts import LayoutLimits
from proa.planner.place.need import NeedSpec
from proa.planner.place.no_room import NoRoomError
from proa.planner.place.placement import PlacementPlan, PlacementSpec, place
from proa.planner.speed.calibration import SpeedCalibration
from proa.planner.speed.performance import PerformancePlan, PerformanceSpec, performance
from proa.planner.text import Text

Json = dict[str, Any]
_SHARES = (0.05, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
_MEMORY_PARTS = (
    "weights_bytes",
    "activation_bytes",
    "non_torch_bytes",
    "cuda_graph_bytes",
    "fragmentation_bytes",
    "headroom_bytes",
    "kv_cache_bytes",
)


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """A placement with what it was asked; `note` says why there is none.

    `doubts` are what a start-up log left open, in place of the profile's own; None without a log.
    """

    subject: Subject
    gpu: GpuSpec
    spec: PlacementSpec
    plan: PlacementPlan | None
    note: Text | None = None
    doubts: tuple[Text, ...] | None = None


def need_of(
    asked: PlanAsked, lengths: Lengths, sessions: int, tokens_per_s: float | None
) -> NeedSpec:
    """The need of so many sessions, each of them as long as the longest."""
    return NeedSpec(
        sessions=sessions,
        input_tokens=lengths.longest_input,
        output_tokens=lengths.output_tokens,
        user_tokens_per_s=tokens_per_s,
        ttft_p95_s=asked.ttft_p95_s,
    )


def seat_of(
    asked: PlanAsked,
    subject: Subject,
    gpu: GpuSpec,
    need: NeedSpec,
    measured: MeasuredMemory | None = None,
    speed: SpeedCalibration | None = None,
) -> Seat:
    """The smallest placement on this GPU, or why the model has no place on it.

    Raises:
        FieldError: TP or PP that the model cannot be split by, a link that the GPU has not.
    """
    spec = PlacementSpec(
        start=start_of(asked, subject, gpu, measured),
        need=need,
        layouts=LayoutLimits(
            tensor_parallel=asked.tp,
            pipeline_parallel=asked.pp,
            expert_parallel=asked.expert_parallel or None,
        ),
        gpus=asked.gpus,
        link=asked.link,
        margin=asked.margin or 0.0,
        calibration=speed,
    )
    try:
        return Seat(subject=subject, gpu=gpu, spec=spec, plan=place(spec))
    except NoRoomError as error:
        return Seat(subject=subject, gpu=gpu, spec=spec, plan=None, note=error.reason)


def start_of(
    asked: PlanAsked, subject: Subject, gpu: GpuSpec, measured: MeasuredMemory | None = None
) -> FitSpec:
    """The engine start that is asked for, its layout still open."""
    return FitSpec(
        llm=subject.llm,
        gpu=gpu,
        engine=engine_of(asked, gpu),
        engine_version=asked.engine_version,
        gpu_memory_utilization=asked.gpu_memory_utilization,
        kv_dtype=subject.kv_dtype,
        measured=measured,
    )


def engine_of(asked: PlanAsked, gpu: GpuSpec) -> str:
    """The engine asked for, else vLLM, or llama.cpp where vLLM does not run."""
    return asked.engine or ("llamacpp" if gpu.vendor.casefold() == "apple" else "vllm")


def best_of(seats: list[Seat]) -> Seat:
    """The first that meets the need with the fewest GPUs; else the one that comes nearest."""

    def order(seat: Seat) -> tuple[bool, bool, int]:
        plan = seat.plan
        return (plan is None, plan is None or not plan.meets, 0 if plan is None else plan.gpus)

    return min(seats, key=order)


def speed_at(seat: Seat, sessions: float) -> PerformancePlan:
    """The speed while so many sessions run, spread over the replicas of the placement."""
    plan, start = seat.plan, seat.spec.start
    assert plan is not None
    return performance(
        PerformanceSpec(
            llm=start.llm,
            gpu=start.gpu,
            layout=layout_of(plan),
            engine=start.engine,
            input_tokens=float(seat.spec.need.input_tokens),
            output_tokens=float(seat.spec.need.output_tokens),
            users=max(sessions / plan.replicas, 1e-6),
            places=float(max(1, plan.limits.memory_sessions)),
            kv_dtype=start.kv_dtype,
            link=plan.links.link,
            stage_link=plan.links.stage_link,
            calibration=seat.spec.calibration,
        )
    )


def layout_of(plan: PlacementPlan) -> LayoutSpec:
    return LayoutSpec(
        tensor_parallel=plan.tensor_parallel,
        pipeline_parallel=plan.pipeline_parallel,
        expert_parallel=plan.expert_parallel,
    )


def speed_points(seat: Seat) -> list[Json]:
    """What each user gets from one session up to beyond what was asked and what memory holds."""
    plan = seat.plan
    if plan is None:
        return []
    most = max(seat.spec.need.sessions, plan.limits.memory_sessions * plan.replicas)
    most = min(most, max(seat.spec.need.sessions, plan.max_sessions) * 2)
    counts = sorted({1, seat.spec.need.sessions, *(max(1, round(most * s)) for s in _SHARES)})
    points = []
    for count in counts:
        speed = speed_at(seat, count)
        points.append(
            {
                "sessions": count,
                "user_tokens_per_s": speed.user_tokens_per_s,
                "aggregate_tokens_per_s": speed.aggregate_tokens_per_s * plan.replicas,
                "ttft_s": speed.ttft_s,
                "ttft_p95_s": speed.ttft_p95_s,
            }
        )
    return points


def placement_document(seat: Seat | None) -> Json:
    """What was decided, or null where the model has no place."""
    keys = ("tensor_parallel", "pipeline_parallel", "replicas", "kv_cache_tokens", "max_sessions")
    if seat is None or seat.plan is None:
        told: Json = {"gpu": None if seat is None else seat.gpu.id, "gpus": None}
        return told | dict.fromkeys((*keys, "expert_parallel", "servers", "meets", "engine"))
    plan = seat.plan
    told = {"gpu": plan.gpu, "gpus": plan.gpus}
    told |= {key: getattr(plan, key) for key in keys}
    return told | {
        "expert_parallel": plan.expert_parallel,
        "servers": plan.servers,
        "meets": plan.meets,
        "engine": plan.memory.engine,
        "engine_version": plan.memory.engine_version,
        "engine_profile": plan.memory.profile,
        "link": plan.links.link,
        "stage_link": plan.links.stage_link,
        "memory_sessions": plan.limits.memory_sessions * plan.replicas,
        "speed_sessions": _times(plan.limits.speed_sessions, plan.replicas),
        "ttft_sessions": _times(plan.limits.ttft_sessions, plan.replicas),
    }


def performance_document(seat: Seat | None) -> Json:
    """The speed at the sessions that were asked for; null where there is no placement."""
    keys = ("ttft_s", "ttft_p95_s", "itl_s", "tpot_s", "user_tokens_per_s")
    if seat is None or seat.plan is None:
        return dict.fromkeys((*keys, "aggregate_tokens_per_s", "binding", "points"))
    plan, need = seat.plan, seat.spec.need
    told: Json = {key: getattr(plan.performance, key) for key in keys}
    told["aggregate_tokens_per_s"] = speed_of_all(plan, need.sessions)
    told["binding"] = plan.binding.value
    told["points"] = speed_points(seat)
    return told


def speed_of_all(plan: PlacementPlan, sessions: int) -> float:
    """Tokens per second of all sessions together, at the speed of the fullest replica."""
    return plan.performance.aggregate_tokens_per_s / -(-sessions // plan.replicas) * sessions


def memory_document(fit: FitPlan | None, language: str) -> Json | None:
    """One GPU's memory after the start, a line each with its source."""
    if fit is None:
        return None
    told: Json = {"gpu_bytes": fit.gpu_bytes, "requested_bytes": fit.requested_bytes}
    told |= {part: getattr(fit, part) for part in _MEMORY_PARTS}
    told["max_model_len"] = fit.max_model_len
    told["max_concurrency"] = fit.max_concurrency
    told["uncertain"] = fit.uncertain
    told["lines"] = [line_document(line, language) for line in fit.lines]
    return told


def line_document(line: MemoryLine, language: str) -> Json:
    """One line, its source in the language."""
    return msgspec.structs.asdict(line) | {"source": line.source.say(language)}


def _times(count: int | None, replicas: int) -> int | None:
    return None if count is None else count * replicas
