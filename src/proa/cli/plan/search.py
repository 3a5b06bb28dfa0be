"""Searches: the whole space for a need, and from given GPUs to what can be promised."""

from typing import TYPE_CHECKING, Any

import msgspec

from proa.cli.plan.asked import PlanAsked
from proa.cli.plan.lengths import Lengths
from proa.cli.plan.money import purse_of
from proa.cli.plan.place import need_of, start_of
from proa.cli.plan.subject import Subject
from proa.domain.gpu import GpuSpec
from proa.planner.demand.context import SWEEP
from proa.planner.place.layouts import LayoutLimits
from proa.planner.place.need import NeedSpec
from proa.planner.place.placement import PlacementSpec
from proa.planner.place.reverse import MARGIN, PromisePoint, ReversePlan, ReverseSpec, reverse
from proa.planner.speed.calibration import SpeedCalibration
from proa.units import Money

if TYPE_CHECKING:
    from proa.planner.explore.spec import ExploreSpec

Json = dict[str, Any]
_VARIANTS = ("bf16", "fp8", "int8", "int4")
_CACHES = ("bf16", "fp8")
_POINTS, _POINTS_OF_SWEEP = 12, 6
_MOST_GPUS = 16


def promised(
    asked: PlanAsked,
    lengths: Lengths,
    subject: Subject,
    gpu: GpuSpec,
    tokens_per_s: float,
    speed: SpeedCalibration | None = None,
) -> ReversePlan:
    """What the GPUs asked for can promise, at the context asked for or at 8K to 128K.

    Raises:
        InputError: the model fits these GPUs at none of the contexts.
    """
    need = need_of(asked, lengths, 1, tokens_per_s)
    has_length = asked.context or asked.input_tokens or lengths.parts
    contexts = (lengths.context_tokens,) if has_length else SWEEP
    return reverse(
        ReverseSpec(
            placement=PlacementSpec(
                start=start_of(asked, subject, gpu),
                need=need,
                layouts=layout_limits(asked),
                gpus=asked.gpus,
                link=asked.link,
                margin=MARGIN if asked.margin is None else asked.margin,
                calibration=speed,
            ),
            contexts=contexts,
        )
    )


def layout_limits(asked: PlanAsked) -> LayoutLimits:
    """The splits asked for."""
    return LayoutLimits(
        tensor_parallel=asked.tp,
        pipeline_parallel=asked.pp,
        expert_parallel=asked.expert_parallel or None,
    )


def first_promise(plan: ReversePlan, context_tokens: int) -> PromisePoint | None:
    """The promise at the plan's context, else at the shortest that has one."""
    exact = [each for each in plan.promises if each.context_tokens == context_tokens]
    return next(iter([*exact, *plan.promises]), None)


def reverse_document(plan: ReversePlan | None) -> Json | None:
    """Promises by context, and the frontier that nothing beats."""
    return None if plan is None else msgspec.to_builtins(plan)


def explore_document(
    asked: PlanAsked, lengths: Lengths, subject: Subject, gpu: GpuSpec | None, need: NeedSpec
) -> Json:
    """The walk, and the configurations that nothing beats.

    Raises:
        InputError: the space is empty.
    """
    from proa.planner.explore.explore import explore

    spec = _space(asked, lengths, subject, gpu, need)
    points = _POINTS_OF_SWEEP if len(spec.contexts) > 1 else _POINTS
    plan = explore(spec, most_points=points)
    return {
        "most_gpus": spec.most_gpus,
        "configurations": plan.walked,
        "meets": plan.met,
        "currency": spec.currency,
        "front": [msgspec.to_builtins(point) for point in plan.points],
    }


def _space(
    asked: PlanAsked, lengths: Lengths, subject: Subject, gpu: GpuSpec | None, need: NeedSpec
) -> "ExploreSpec":
    from proa.catalog.gpus import gpu_rows
    from proa.planner.explore.spec import ExploreSpec

    weights = asked.allow_weights or ((asked.weights,) if asked.weights else _VARIANTS)
    caches = asked.allow_kv or ((asked.kv_dtype,) if asked.kv_dtype else _CACHES)
    has_length = asked.context or asked.input_tokens or lengths.parts
    price = asked.gpu_price or Money(0.0, "")
    prices = {gpu.id: price.amount} if gpu is not None and price.amount else {}
    return ExploreSpec(
        variants=tuple(subject.in_precision(name).llm for name in weights),
        gpus=tuple(gpu_rows().values()) if gpu is None else (gpu,),
        need=need,
        contexts=() if has_length else SWEEP,
        engines=(asked.engine,) if asked.engine else ("vllm", "sglang"),
        kv_dtypes=tuple(subject.in_precision(subject.weights, kv).kv_dtype for kv in caches),
        layouts=layout_limits(asked),
        most_gpus=asked.gpus or _MOST_GPUS,
        link=asked.link,
        gpu_memory_utilization=asked.gpu_memory_utilization,
        margin=asked.margin or 0.0,
        currency=_price_currency(asked, price),
        gpu_prices=prices,
    )


def _price_currency(asked: PlanAsked, price: Money) -> str:
    """The currency that prices of a search are compared in: the catalogue's, or one's own."""
    if not price.amount:
        return "USD"
    bare = purse_of(asked).price(price)
    return bare.currency if bare is not None else "USD"
