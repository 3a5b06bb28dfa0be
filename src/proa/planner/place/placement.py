"""The smallest arrangement of GPUs that meets a need in memory, in speed and in waiting time."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from proa.errors import FieldError, InputError
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.layout import LayoutSpec
from proa.planner.place.layouts import (
    LayoutLimits,
    ReplicaLinks,
    candidate_layouts,
    links_of,
    servers_of,
)
from proa.planner.place.need import Limit, NeedSpec
from proa.planner.place.no_room import NoRoomError
from proa.planner.place.replica import ReplicaLimits, ReplicaPlan, plan_replica, replica_performance
from proa.planner.speed.calibration import SpeedCalibration
from proa.planner.speed.performance import PerformancePlan


class PlacementSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A model on one kind of GPU, and what it has to carry.

    `start` says model, GPU, engine and its flags; its layout and context are chosen here.
    `gpus` is how many there are, None for as many as it takes. `link` joins the GPUs of one
    replica (`links.LINK_NAMES`), None for the fastest in a server. `margin` is the share of
    memory, speed and time that the plan keeps back. `calibration` is what a load run of one replica
    said of the engine's speed.
    """

    start: FitSpec
    need: NeedSpec
    layouts: LayoutLimits = LayoutLimits()
    gpus: int | None = None
    link: str | None = None
    margin: float = 0.0
    calibration: SpeedCalibration | None = None

    def __post_init__(self) -> None:
        if self.gpus is not None and self.gpus < 1:
            raise FieldError("gpus", self.gpus, "a whole number from 1")


class PlacementPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which GPUs, laid out how, and what they carry together.

    `kv_cache_tokens` is the cache of all replicas that a promise may rest on (in fit's words:
    `plannable_tokens`), `max_sessions` the sessions up to which everything that was asked holds,
    `limits` those of one replica, `binding` the condition that fails first beyond them.
    `performance` is that of the fullest replica at the need's sessions. `meets` says whether the
    need is met; where it is not, this is the arrangement that comes nearest.
    """

    gpu: str
    gpus: int
    tensor_parallel: int
    pipeline_parallel: int
    expert_parallel: bool
    replicas: int
    servers: int
    kv_cache_tokens: int
    max_sessions: int
    binding: Limit
    meets: bool
    limits: ReplicaLimits
    performance: PerformancePlan
    memory: FitPlan
    links: ReplicaLinks

    @property
    def gpus_per_replica(self) -> int:
        """GPUs that one replica takes."""
        return self.gpus // self.replicas


def place(spec: PlacementSpec) -> PlacementPlan:
    """The arrangement of fewest GPUs that meets the need.

    replicas = ceil(sessions / sessions of one replica); GPUs = replicas x TP x PP

    Two GPUs are not one large one: a layout's memory is that of its fullest GPU, its speed has
    the link's time in it. Of equal counts one without pipeline stages is taken before others,
    then the one that carries most sessions, then that with the fewest GPUs in a replica. With
    `spec.gpus`, arrangements of at most so many are compared by the sessions that they carry, so
    that more GPUs never promise less.

    Not modelled:
        replicas that share a GPU; a last replica of another layout.

    Raises:
        InputError: the model fits no layout, or a field is out of range.
    """
    return _plan(spec, *arrange(spec, plan_replicas(spec)))


def arrange(spec: PlacementSpec, replicas: Sequence[ReplicaPlan]) -> tuple[ReplicaPlan, int]:
    """Of these replicas the one to take, and how many of it; see `place` for the order.

    Where none serves even one session as asked, the one whose single session comes nearest.
    """
    plans = [_arranged(spec, replica) for replica in replicas]
    best = min(plans, key=lambda plan: _rank(spec, *plan))
    if not best[0].limits.sessions:
        return min(plans, key=lambda plan: _shortfall(spec.need, plan[0]))
    return best


def best_placement(specs: Iterable[PlacementSpec]) -> PlacementPlan:
    """Of several kinds of GPU, the one that meets the need at the least price.

    Prices are compared where all have one in the same currency; else fewest GPUs win.

    Raises:
        InputError: no spec, or the model fits none of the GPUs.
    """
    found: list[tuple[PlacementSpec, PlacementPlan]] = []
    refused = ["no GPU was given"]
    for spec in specs:
        try:
            found.append((spec, place(spec)))
        except InputError as error:
            refused.append(str(error))
    if not found:
        raise InputError(refused[-1])
    currencies = {spec.start.gpu.price and spec.start.gpu.price.currency for spec, _ in found}
    priced = len(currencies) == 1 and None not in currencies

    def order(row: tuple[PlacementSpec, PlacementPlan]) -> tuple[bool, float, int]:
        price = row[0].start.gpu.price
        cost = row[1].gpus * price.amount if priced and price else 0.0
        return not row[1].meets, cost, row[1].gpus

    return min(found, key=order)[1]


def plan_replicas(spec: PlacementSpec) -> tuple[ReplicaPlan, ...]:
    """One replica of every layout that holds the model, with its limits.

    Raises:
        NoRoomError: no layout holds a single session.
    """
    limits = spec.layouts
    if spec.gpus is not None:
        servers = min(limits.servers, -(-spec.gpus // limits.gpus_per_server))
        limits = msgspec.structs.replace(limits, servers=servers)
    found, nearest = [], None
    for layout in candidate_layouts(spec.start.llm, spec.start.engine, limits):
        if spec.gpus is not None and layout.gpus > spec.gpus:
            continue
        start = msgspec.structs.replace(spec.start, layout=layout)
        links = links_of(layout, spec.layouts, spec.link)
        replica = plan_replica(
            start,
            spec.need,
            links=links,
            margin=spec.margin,
            calibration=spec.calibration,
        )
        if replica.limits.memory_sessions:
            found.append(replica)
        elif nearest is None or replica.memory.kv_cache_bytes > nearest.memory.kv_cache_bytes:
            nearest = replica
    if not found:
        raise NoRoomError(spec.start, spec.need, nearest)
    return tuple(found)


def smaller_refusals(
    replicas: Iterable[ReplicaPlan], need: NeedSpec, *, gpus: int
) -> Iterator[tuple[int, LayoutSpec, Limit]]:
    """Why fewer GPUs do not do: for each layout below `gpus`, its largest count and what fails."""
    for replica in replicas:
        count = (gpus - 1) // replica.start.layout.gpus
        if count and count * replica.limits.sessions < need.sessions:
            layout = replica.start.layout
            yield count * layout.gpus, layout, replica.limits.binding


def _arranged(spec: PlacementSpec, replica: ReplicaPlan) -> tuple[ReplicaPlan, int]:
    each = replica.limits.sessions or replica.limits.memory_sessions
    wanted = -(-spec.need.sessions // each)
    if spec.gpus is None:
        return replica, wanted
    return replica, spec.gpus // replica.start.layout.gpus


def _rank(spec: PlacementSpec, replica: ReplicaPlan, count: int) -> tuple[float, ...]:
    """The least is the best: meets, then fewest GPUs or, of given ones, most sessions."""
    layout, limits = replica.start.layout, replica.limits
    sessions = count * limits.sessions
    met = sessions >= spec.need.sessions
    if spec.gpus is not None or not met:
        return (not met, -sessions, layout.gpus, layout.expert_parallel)
    staged = layout.pipeline_parallel > 1
    return (not met, count * layout.gpus, staged, -sessions, layout.gpus, layout.expert_parallel)


def _shortfall(need: NeedSpec, replica: ReplicaPlan) -> float:
    """How many times too slow or too late one session alone is; the larger of the two."""
    alone = replica_performance(replica, need, sessions=1)
    speed = (need.user_tokens_per_s or 0.0) * alone.tpot_s
    return max(speed, alone.ttft_p95_s / need.ttft_p95_s if need.ttft_p95_s else 0.0)


def _plan(spec: PlacementSpec, replica: ReplicaPlan, count: int) -> PlacementPlan:
    layout, need = replica.start.layout, spec.need
    per_server = spec.layouts.gpus_per_server
    each = -(-need.sessions // count)
    together = max(1, per_server // layout.gpus)
    most = count * replica.limits.sessions
    return PlacementPlan(
        gpu=replica.start.gpu.id,
        gpus=count * layout.gpus,
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=layout.pipeline_parallel,
        expert_parallel=layout.expert_parallel,
        replicas=count,
        servers=-(-count // together) * servers_of(layout, per_server),
        kv_cache_tokens=count * replica.memory.plannable_tokens,
        max_sessions=most,
        binding=replica.limits.binding,
        meets=most >= need.sessions,
        limits=replica.limits,
        performance=replica_performance(replica, need, sessions=each),
        memory=replica.memory,
        links=replica.links,
    )
