"""Several models on one GPU: each with its weights, its engine and its sessions."""

from typing import Any

import msgspec

from proa.cli.plan.asked import ModelAsked, PlanAsked
from proa.cli.plan.lengths import Lengths, lengths_of
from proa.cli.plan.place import start_of
from proa.cli.plan.subject import Subject, catalogue_of, gpu_of, subject_of
from proa.domain.gpu import GpuSpec
from proa.errors import FieldError
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.speed.performance import PerformanceSpec, performance

Json = dict[str, Any]
_STEP = 0.005


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """One of the models: its start with its share of the GPU, and what that start holds."""

    subject: Subject
    lengths: Lengths
    sessions: int
    start: FitSpec
    fit: FitPlan


def models_document(asked: PlanAsked) -> Json | None:
    """Every model of `[[models]]` on the plan's GPU; None where there are none.

    Each takes the share of the GPU that its sessions need, or the one that was given. Speeds are
    those of a model alone, and of all at once: the GPU's time is then divided between them, so a
    token takes as long as one of each.

    Raises:
        FieldError: no GPU, a model without a name, or a share that does not hold its weights.
    """
    if not asked.models:
        return None
    if asked.gpu is None:
        raise FieldError("gpu", None, "the GPU that the models share, as rtx-pro-6000-96gb")
    rows = catalogue_of(asked)
    gpu = gpu_of(asked.gpu, rows=rows)
    tenants = []
    for at, each in enumerate(asked.models):
        name = f"models[{at}]."
        subject = subject_of(each, name, rows)
        if subject is None:
            raise FieldError(f"{name}model", None, "a catalogue id or a config.json, or params")
        tenants.append(_tenant(asked, each, subject, gpu))
    speeds = [_tpot_s(tenant) for tenant in tenants]
    told = [_row(*row, sum(speeds)) for row in zip(tenants, speeds, strict=True)]
    total = sum(row["total_bytes"] for row in told)
    shares = sum(row["gpu_memory_utilization"] for row in told)
    return {
        "gpu": gpu.id,
        "gpu_bytes": gpu.usable_bytes,
        "total_bytes": total,
        "fits": shares <= 1.0 and all(row["fits"] for row in told),
        "rows": told,
    }


def _tenant(asked: PlanAsked, model: ModelAsked, subject: Subject, gpu: GpuSpec) -> Tenant:
    lengths = lengths_of(model)
    sessions = model.sessions or 1
    start = msgspec.structs.replace(
        start_of(asked, subject, gpu),
        max_model_len=lengths.context_tokens,
        gpu_memory_utilization=model.gpu_memory_utilization or 1.0,
    )
    plan = fit(start)
    if model.gpu_memory_utilization is None:
        needed = plan.requested_bytes - plan.kv_cache_bytes + _cache_bytes(plan, sessions)
        share = min(1.0, -(-needed / plan.gpu_bytes // _STEP) * _STEP)
        start = msgspec.structs.replace(start, gpu_memory_utilization=round(share, 4))
        plan = fit(start)
    return Tenant(subject=subject, lengths=lengths, sessions=sessions, start=start, fit=plan)


def _cache_bytes(plan: FitPlan, sessions: int) -> float:
    """Cache of so many sequences of the longest context, as that start would keep it."""
    if plan.max_concurrency <= 0:
        return plan.kv_bytes_per_token * plan.max_model_len * sessions
    return plan.kv_cache_bytes / plan.max_concurrency * sessions


def _tpot_s(tenant: Tenant) -> float:
    spec = PerformanceSpec(
        llm=tenant.subject.llm,
        gpu=tenant.start.gpu,
        engine=tenant.start.engine,
        input_tokens=float(tenant.lengths.input_tokens),
        output_tokens=float(tenant.lengths.output_tokens),
        users=float(tenant.sessions),
        kv_dtype=tenant.start.kv_dtype,
    )
    return performance(spec).tpot_s


def _row(tenant: Tenant, tpot_s: float, all_tpot_s: float) -> Json:
    plan = tenant.fit
    cache = max(0, plan.kv_cache_bytes)
    return {
        "model": tenant.subject.llm.id,
        "weights": tenant.subject.weights,
        "kv_dtype": tenant.subject.kv,
        "sessions": tenant.sessions,
        "context_tokens": tenant.lengths.context_tokens,
        "weights_bytes": plan.weights_bytes,
        "engine_bytes": plan.requested_bytes - plan.weights_bytes - cache,
        "kv_bytes": cache,
        "total_bytes": plan.requested_bytes,
        "gpu_memory_utilization": tenant.start.gpu_memory_utilization,
        "max_sessions": int(max(0.0, plan.max_concurrency)),
        "user_tokens_per_s": 1 / tpot_s,
        "shared_user_tokens_per_s": 1 / all_tpot_s,
        "fits": plan.fits and plan.max_concurrency >= tenant.sessions * 0.999,
    }
