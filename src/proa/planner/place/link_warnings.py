"""Distribution is not always faster: where a split over a link loses to fewer GPUs or to copies."""

from collections.abc import Iterator

import msgspec

from proa.errors import InputError
from proa.planner.layout import LayoutSpec
from proa.planner.place.layouts import LayoutLimits
from proa.planner.place.placement import PlacementPlan, PlacementSpec, plan_replicas
from proa.planner.place.replica import ReplicaPlan, replica_performance
from proa.planner.speed.links import find_link
from proa.planner.text import Text, written

_CLEARLY = 1.05
"""A loss of less is within what speeds are known to."""


def link_warnings(spec: PlacementSpec, plan: PlacementPlan) -> tuple[Text, ...]:
    """What a replica of fewer GPUs, or several such replicas, would do better than this split.

    Compared are tokens/s of one user at the need's sessions: the plan's replicas with its GPUs,
    against the same number of replicas of fewer GPUs each, and against as many smaller replicas
    as the same GPUs make. Only replicas whose cache holds their sessions are compared. Of each
    comparison the strongest is told, so there are at most two warnings.
    """
    if plan.gpus_per_replica == 1:
        return ()
    given = spec.layouts
    free = LayoutLimits(gpus_per_server=given.gpus_per_server, servers=given.servers)
    asked = msgspec.structs.replace(spec, layouts=free, gpus=plan.gpus_per_replica)
    try:
        smaller = [
            replica
            for replica in plan_replicas(asked)
            if replica.start.layout.gpus < plan.gpus_per_replica
        ]
    except InputError:
        return ()
    return (*_fewer(spec, plan, smaller), *_copies(spec, plan, smaller))


def _fewer(spec: PlacementSpec, plan: PlacementPlan, smaller: list[ReplicaPlan]) -> Iterator[Text]:
    rows = [(_speed(spec, replica, plan.replicas), replica.start.layout) for replica in smaller]
    speed, layout = max(rows, key=lambda row: row[0], default=(0.0, None))
    if layout is not None and speed > plan.performance.user_tokens_per_s * _CLEARLY:
        yield _FEWER.fill(
            **_names(spec, plan, layout, speed), gpus=plan.gpus_per_replica, fewer=layout.gpus
        )


def _copies(spec: PlacementSpec, plan: PlacementPlan, smaller: list[ReplicaPlan]) -> Iterator[Text]:
    rows = []
    for replica in smaller:
        count = plan.gpus // replica.start.layout.gpus
        rows.append((_speed(spec, replica, count), count, replica.start.layout))
    speed, count, layout = max(rows, key=lambda row: row[0], default=(0.0, 0, None))
    if layout is not None and speed > plan.performance.user_tokens_per_s * _CLEARLY:
        yield _COPIES.fill(**_names(spec, plan, layout, speed), count=count)


def _speed(spec: PlacementSpec, replica: ReplicaPlan, count: int) -> float:
    """One user's tokens/s with the need spread over `count` replicas; 0 where it does not fit."""
    each = -(-spec.need.sessions // count)
    if each > replica.limits.memory_sessions:
        return 0.0
    return replica_performance(replica, spec.need, sessions=each).user_tokens_per_s


def _names(
    spec: PlacementSpec, plan: PlacementPlan, layout: LayoutSpec, speed: float
) -> dict[str, str]:
    own = LayoutSpec(tensor_parallel=plan.tensor_parallel, pipeline_parallel=plan.pipeline_parallel)
    return {
        "layout": _layout(own),
        "other": _layout(layout),
        "link": plan.links.stage_link or find_link(plan.links.link, spec.start.gpu).name,
        "speed": written(round(plan.performance.user_tokens_per_s, 1)),
        "better": written(round(speed, 1)),
    }


def _layout(layout: LayoutSpec) -> str:
    names = (("TP", layout.tensor_parallel), ("PP", layout.pipeline_parallel))
    return " × ".join(f"{name}{size}" for name, size in names if size > 1) or "TP1"


_FEWER = Text(
    "{link} 링크에서 {layout}({gpus}장)은 사용자당 {speed} tok/s, "
    "GPU {fewer}장의 {other}은 {better} tok/s입니다. "
    "분산이 항상 빠른 것은 아닙니다.",
    "Over {link}, {layout} on {gpus} GPUs gives each user {speed} tok/s; {other} on {fewer} gives "
    "{better} tok/s. Distribution is not always faster.",
)
_COPIES = Text(
    "같은 GPU를 {other} 복제본 {count}개로 나누면 사용자당 {better} tok/s로, "
    "{link} 링크의 {layout}({speed} tok/s)보다 빠릅니다.",
    "The same GPUs as {count} replicas of {other} give each user {better} tok/s, more than "
    "{layout} over {link} ({speed} tok/s).",
)
