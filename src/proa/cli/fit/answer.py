"""One start answered: its plan, what is missing where it does not fit, whose log corrected it."""

from typing import Any

import msgspec

from proa.cli.fit.asked import FitAsked
from proa.cli.fit.log import engine_lines
from proa.errors import FieldError
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.memory.kv_cache import kv_bytes_per_sequence


class FitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with what a person asks next.

    `missing_bytes` of each GPU keep one sequence of the longest context from fitting (0: it fits,
    but nearer than the profile can be sure of), and `longest_max_model_len` is the context that
    would fit in its place; both None where it fits.
    """

    asked: FitAsked
    plan: FitPlan
    missing_bytes: int | None
    longest_max_model_len: int | None
    calibrated_by: str | None


def answer(asked: FitAsked) -> FitAnswer:
    """The plan of one start.

    Raises:
        FieldError: none of the logs is of this engine and GPU.
        InputError: a flag that the engine would refuse.
    """
    by = _nearest(asked) if asked.boots else None
    plan = _fitted(asked, asked.spec)
    missing = None if plan.fits else _missing(asked.spec, plan)
    longest = None if plan.fits else _longest(asked, plan)
    return FitAnswer(
        asked=asked,
        plan=plan,
        missing_bytes=missing,
        longest_max_model_len=longest,
        calibrated_by=by,
    )


def _nearest(asked: FitAsked) -> str:
    """The name of the log that corrects the answer."""
    from proa.planner.calibration.start import nearest_boot  # here: few starts have a log

    nearest = nearest_boot(asked.spec, [boot for _, boot in asked.boots])
    if nearest is None:
        names = ", ".join(name for name, _ in asked.boots)
        raise FieldError("calibrate", names, _wanted(asked))
    return next(name for name, boot in asked.boots if boot is nearest)


def _fitted(asked: FitAsked, spec: FitSpec) -> FitPlan:
    if not asked.boots:
        return fit(spec)
    from proa.planner.calibration.start import calibrated_fit

    return calibrated_fit(spec, [boot for _, boot in asked.boots], fit)


def document(told: FitAnswer) -> dict[str, Any]:
    """What `--format json` prints; the keys stay."""
    plan, spec = told.plan, told.asked.spec
    return {
        "model": spec.llm.id,
        "gpu": spec.gpu.id,
        "gpus": told.asked.gpus,
        "replicas": told.asked.replicas,
        "tensor_parallel": spec.layout.tensor_parallel,
        "pipeline_parallel": spec.layout.pipeline_parallel,
        "engine": plan.engine,
        "engine_version": plan.engine_version or None,
        "profile": plan.profile,
        "gpu_bytes": plan.gpu_bytes,
        "requested_bytes": plan.requested_bytes,
        "weights_bytes": plan.weights_bytes,
        "activation_bytes": plan.activation_bytes,
        "non_torch_bytes": plan.non_torch_bytes,
        "cuda_graph_bytes": plan.cuda_graph_bytes,
        "fragmentation_bytes": plan.fragmentation_bytes,
        "headroom_bytes": plan.headroom_bytes,
        "kv_cache_bytes": plan.kv_cache_bytes,
        "kv_bytes_per_token": plan.kv_bytes_per_token,
        "kv_cache_tokens": plan.kv_cache_tokens,
        "plannable_tokens": plan.plannable_tokens,
        "max_model_len": plan.max_model_len,
        "max_concurrency": round(plan.max_concurrency, 4),
        "fits": plan.fits,
        "missing_bytes": told.missing_bytes,
        "longest_max_model_len": told.longest_max_model_len,
        "uncertain": plan.uncertain,
        "doubts": [doubt.en for doubt in plan.doubts],
        "warnings": [warning.en for warning in plan.warnings],
        "calibrated_by": told.calibrated_by,
        "lines": [msgspec.structs.asdict(each) | {"source": each.source.en} for each in plan.lines],
        "log": engine_lines(plan, spec),
    }


def _wanted(asked: FitAsked) -> str:
    spec = asked.spec
    size = f"{spec.gpu.usable_bytes / 2**30:.2f} GiB"
    found = ", ".join(
        f"{name}: {boot.engine}"
        + (f" on {boot.gpu_total_bytes / 2**30:.2f} GiB" if boot.gpu_total_bytes else "")
        for name, boot in asked.boots
    )
    return f"a log of {spec.engine} on {spec.gpu.id} ({size}); these are {found}"


def _missing(spec: FitSpec, plan: FitPlan) -> int:
    """The largest of what is short: for one sequence, for the share, for a cache that was given."""
    room = plan.gpu_bytes - spec.taken_bytes
    if plan.engine == "llamacpp":
        return max(plan.requested_bytes + spec.headroom_bytes - room, 0)
    one = kv_bytes_per_sequence(spec.llm, plan.max_model_len, spec.kv_dtype, layout=spec.layout)
    short = [one - plan.kv_cache_bytes, plan.requested_bytes - room]
    if spec.kv_cache_memory_bytes is not None:
        parts = plan.weights_bytes + plan.activation_bytes + plan.non_torch_bytes
        short.append(parts + plan.cuda_graph_bytes + plan.kv_cache_bytes - room)
    return max(0, *short)


def _longest(asked: FitAsked, plan: FitPlan) -> int | None:
    """By halving; None where not even one block fits."""

    def fits(length: int) -> bool:
        return _fitted(asked, msgspec.structs.replace(asked.spec, max_model_len=length)).fits

    block, low, high = 16, 0, plan.max_model_len // 16
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * block) else (low, middle - 1)
    return low * block or None
