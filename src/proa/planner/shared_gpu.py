"""Several engines on one GPU: each with its own weights, overheads, sessions and share."""

from collections.abc import Sequence
from math import ceil

import msgspec

from proa.errors import FieldError
from proa.planner.fit import fit
from proa.planner.fit_spec import FitPlan, FitSpec
from proa.planner.kv_cache import kv_bytes_per_sequence

_SHARE_STEP = 0.01


class TenantSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One engine of several: its start, and the sessions that it must hold at once."""

    start: FitSpec
    sessions: int
    context_tokens: int


class TenantPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine needs, the share of the GPU that gives it, and the start with that share."""

    weights_bytes: int
    overhead_bytes: int
    kv_cache_bytes: int
    share: float
    start: FitPlan

    @property
    def needed_bytes(self) -> int:
        """Weights, overheads and the sessions' cache."""
        return self.weights_bytes + self.overhead_bytes + self.kv_cache_bytes


class SharedGpuPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All engines of one GPU. `free_bytes` is negative by what is missing."""

    gpu_bytes: int
    tenants: tuple[TenantPlan, ...]
    free_bytes: int
    fits: bool


def share_gpu(tenants: Sequence[TenantSpec]) -> SharedGpuPlan:
    """Shares for engines that start one after the other on the same GPU.

    share = (weights + overheads + sessions x cache of one) / GPU, up to the next hundredth

    Each process takes its share of the whole GPU, so shares add up; CUDA graphs that a version
    does not count lie beside its share and are added.

    Raises:
        FieldError: no engine, or no sessions.
        InputError: engines on different GPUs' memory, or a flag that one would refuse.
    """
    if not tenants:
        raise FieldError("models", 0, "1 or more on a GPU")
    plans = tuple(_tenant(tenant) for tenant in tenants)
    gpu_bytes = min(plan.start.gpu_bytes for plan in plans)
    beside = sum(_beside_bytes(plan.start) for plan in plans)
    held = sum(ceil(plan.share * gpu_bytes) for plan in plans) + beside
    return SharedGpuPlan(
        gpu_bytes=gpu_bytes,
        tenants=plans,
        free_bytes=gpu_bytes - held,
        fits=held <= gpu_bytes and all(plan.share <= 1 for plan in plans),
    )


def _tenant(tenant: TenantSpec) -> TenantPlan:
    if tenant.sessions < 1:
        raise FieldError("sessions", tenant.sessions, "1 or more for each model")
    length = max(tenant.context_tokens, tenant.start.max_model_len or 0)
    start = msgspec.structs.replace(
        tenant.start, max_model_len=length, gpu_memory_utilization=1.0, headroom_bytes=0
    )
    whole = fit(start)
    overhead = whole.requested_bytes - whole.weights_bytes - whole.kv_cache_bytes
    cache = tenant.sessions * kv_bytes_per_sequence(
        start.llm, tenant.context_tokens, start.kv_dtype, layout=start.layout
    )
    share = (whole.weights_bytes + overhead + cache) / whole.gpu_bytes
    share = ceil(share / _SHARE_STEP) * _SHARE_STEP
    with_share = msgspec.structs.replace(start, gpu_memory_utilization=min(1.0, share))
    return TenantPlan(
        weights_bytes=whole.weights_bytes,
        overhead_bytes=overhead,
        kv_cache_bytes=cache,
        share=round(share, 2),
        start=fit(with_share),
    )


def _beside_bytes(plan: FitPlan) -> int:
    """Graphs that the engine's share does not hold."""
    counted = plan.requested_bytes - plan.weights_bytes - plan.kv_cache_bytes
    inside = plan.activation_bytes + plan.non_torch_bytes
    return plan.cuda_graph_bytes if counted <= inside else 0
