"""From given GPUs to what can be promised with them: sessions, context, speed and waiting time."""

from collections.abc import Iterator, Sequence

import msgspec

from proa.errors import FieldError, InputError
from proa.planner.place.need import Limit
from proa.planner.place.placement import PlacementSpec, arrange, plan_replicas
from proa.planner.place.replica import ReplicaPlan, replica_performance

CONTEXTS = (8192, 16384, 32768, 65536, 131072)
"""Contexts that are tried where nobody says which."""

MARGIN = 0.1
"""Share of memory, speed and time that a promise keeps back where nobody says how much."""

_STEPS = (1.05, 1.1, 1.2, 1.5, 2.0)


class ReverseSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The GPUs and the model, as in `PlacementSpec`, whose `gpus` must be given.

    Its need gives the output length, the speed and the time that are asked; its input is
    replaced by each of `contexts` less the output. Contexts longer than the model's are left out.
    """

    placement: PlacementSpec
    contexts: tuple[int, ...] = CONTEXTS

    def __post_init__(self) -> None:
        if self.placement.gpus is None:
            raise FieldError("gpus", None, "a whole number from 1")


class PromisePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One promise: so many sessions of this context see at least this speed within this wait.

    The margin is taken off already. `binding` is what fails first beyond `sessions`, None for a
    point of the frontier, which nothing was asked of.
    """

    sessions: int
    context_tokens: int
    user_tokens_per_s: float
    ttft_p95_s: float
    tensor_parallel: int
    pipeline_parallel: int
    expert_parallel: bool
    replicas: int
    binding: Limit | None = None


class ReversePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What `gpus` can promise, the `margin` kept back.

    `promises`: the most sessions at each context while the speed and time that were asked hold,
    none where not even one session does. `frontier`: promises of which none is better in
    sessions, context, speed and wait at once. Figures within `step` of each other count as
    equal there (1.05 is 5 %): the finest step that leaves few points is taken.
    """

    gpu: str
    gpus: int
    margin: float
    promises: tuple[PromisePoint, ...]
    frontier: tuple[PromisePoint, ...]
    step: float


def reverse(spec: ReverseSpec, *, most_points: int = 30) -> ReversePlan:
    """What can be promised.

    promised speed = (1 - margin) / tpot; promised wait = ttft_p95 / (1 - margin);
    sessions = replicas x sessions of one replica, of at most (1 - margin) of its cache

    Raises:
        InputError: the model fits these GPUs at none of the contexts.
    """
    promises: list[PromisePoint] = []
    points: list[PromisePoint] = []
    refused: InputError | None = None
    for each in _placements(spec):
        try:
            replicas = plan_replicas(each)
        except InputError as error:
            refused = error
            continue
        promises += _promise(each, replicas)
        points += undominated([point for at in replicas for point in _ladder(each, at)], _STEPS[0])
    if not points:
        raise refused or FieldError("contexts", spec.contexts, "one that the model can hold")
    step, frontier = _few(points, most_points)
    return ReversePlan(
        gpu=spec.placement.start.gpu.id,
        gpus=spec.placement.gpus or 0,
        margin=spec.placement.margin,
        promises=tuple(promises),
        frontier=tuple(frontier),
        step=step,
    )


def _placements(spec: ReverseSpec) -> Iterator[PlacementSpec]:
    placement, need = spec.placement, spec.placement.need
    longest = placement.start.llm.max_context or max(spec.contexts, default=0)
    for context in sorted(set(spec.contexts)):
        if need.output_tokens < context <= longest:
            asked = msgspec.structs.replace(need, input_tokens=context - need.output_tokens)
            yield msgspec.structs.replace(placement, need=asked)


def _promise(spec: PlacementSpec, replicas: Sequence[ReplicaPlan]) -> Iterator[PromisePoint]:
    """The most sessions that hold everything that was asked, if any do."""
    replica, count = arrange(spec, replicas)
    if replica.limits.sessions:
        most = count * replica.limits.sessions
        yield _point(spec, replica, count, most, replica.limits.binding)


def _ladder(spec: PlacementSpec, replica: ReplicaPlan) -> Iterator[PromisePoint]:
    """Sessions of one replica in steps of a half more, up to what its cache holds."""
    count = (spec.gpus or 0) // replica.start.layout.gpus
    most = replica.limits.memory_sessions
    for each in _steps(most):
        yield _point(spec, replica, count, count * each, None)


def _steps(most: int) -> Iterator[int]:
    step = 1
    while step < most:
        yield step
        step = max(step + 1, step * 3 // 2)
    yield most


def _point(
    spec: PlacementSpec, replica: ReplicaPlan, count: int, sessions: int, binding: Limit | None
) -> PromisePoint:
    layout, left = replica.start.layout, 1 - spec.margin
    speed = replica_performance(replica, spec.need, sessions=-(-sessions // count))
    return PromisePoint(
        sessions=sessions,
        context_tokens=spec.need.context_tokens,
        user_tokens_per_s=speed.user_tokens_per_s * left,
        ttft_p95_s=speed.ttft_p95_s / left,
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=layout.pipeline_parallel,
        expert_parallel=layout.expert_parallel,
        replicas=count,
        binding=binding,
    )


def _few(points: Sequence[PromisePoint], most: int) -> tuple[float, list[PromisePoint]]:
    for step in _STEPS:
        found = undominated(points, step)
        if len(found) <= most:
            break
    return step, found


def undominated(points: Sequence[PromisePoint], step: float) -> list[PromisePoint]:
    """Promises, the most sessions first, without those that one before gives but for `step`."""
    kept: list[PromisePoint] = []
    for point in sorted(points, key=_order):
        if not any(_as_good(other, point, step) for other in kept):
            kept.append(point)
    return kept


def _as_good(left: PromisePoint, right: PromisePoint, step: float) -> bool:
    """Whether the left promise gives all that the right one does, or so nearly."""
    return (
        left.sessions * step >= right.sessions
        and left.context_tokens >= right.context_tokens
        and left.user_tokens_per_s * step >= right.user_tokens_per_s
        and left.ttft_p95_s <= right.ttft_p95_s * step
    )


def _order(point: PromisePoint) -> tuple[float, ...]:
    """The most sessions first, then the longest context, the highest speed, the least wait."""
    return (
        -point.sessions,
        -point.context_tokens,
        -point.user_tokens_per_s,
        point.ttft_p95_s,
    )
