"""vLLM, pinned by version: the budget of `determine_available_memory`."""

from typing import ClassVar, NamedTuple

from proa.errors import FieldError
from proa.planner.fit_spec import FitPlan, FitSpec, MeasuredMemory, MemoryLine
from proa.planner.kv_cache import kv_bytes_per_token
from proa.planner.layout import StageLayers, pipeline_stages
from proa.planner.profiles import EngineProfile, Version, nearest
from proa.planner.vllm_cache import Asked, CachePool, cache_pool
from proa.planner.vllm_doubts import doubts, version_warnings
from proa.planner.vllm_overheads import (
    activation_bytes,
    batch_of,
    graph_bytes,
    non_torch_bytes,
)
from proa.planner.vllm_versions import VLLM_VERSIONS, VllmVersion
from proa.planner.vllm_weights import loaded_bytes

_SURE_SHARE, _UNSURE_SHARE = 0.005, 0.04


class VllmProfile(EngineProfile):
    """KV = utilization x total - weights - activation - non-torch - CUDA graphs."""

    name: ClassVar[str] = "vllm"

    def fit(self, spec: FitSpec) -> FitPlan:
        """The memory after a start; the stage that holds the fewest sequences decides for all.

        `fits` leaves a margin of 0.5 % of the GPU, of 4 % where there are doubts.

        Source:
            vLLM, v1/worker/gpu_worker.py, determine_available_memory.

        Raises:
            FieldError: no utilisation that is a share, more stages than layers, no context known.
        """
        _check(spec)
        key, version, _ = nearest(VLLM_VERSIONS, spec.engine_version)
        stages = pipeline_stages(spec.llm, spec.layout)
        plans = [_stage_plan(spec, stage, key, version) for stage in stages]
        return min(plans, key=lambda plan: (plan.max_concurrency, plan.kv_cache_bytes))


class _Parts(NamedTuple):
    gpu: int
    requested: int
    weights: int
    activation: int
    non_torch: int
    graphs: int


def _stage_plan(spec: FitSpec, stage: StageLayers, key: Version, version: VllmVersion) -> FitPlan:
    parts = _parts(spec, stage, version)
    taken = parts.weights + parts.activation + parts.non_torch
    kv = parts.requested - taken - (parts.graphs if version.counts_graphs else 0)
    if spec.kv_cache_memory_bytes is not None:
        kv = spec.kv_cache_memory_bytes
    batch = batch_of(spec, version)
    length = spec.max_model_len or spec.llm.max_context
    asked = Asked(length, batch.tokens * version.steps_in_flight, spec.draft_tokens)
    pool = cache_pool(spec, stage, asked, version)
    blocks = pool.blocks(kv)
    reasons = doubts(spec, version)
    margin = parts.gpu * (_UNSURE_SHARE if reasons else _SURE_SHARE)
    needed = pool.blocks_per_sequence * pool.page_bytes * pool.layers_per_group
    concurrency = pool.concurrency(blocks)
    return FitPlan(
        engine="vllm",
        engine_version=spec.engine_version or "",
        profile=".".join(map(str, key)),
        gpu_bytes=parts.gpu,
        requested_bytes=parts.requested,
        weights_bytes=parts.weights,
        activation_bytes=parts.activation,
        non_torch_bytes=parts.non_torch,
        cuda_graph_bytes=parts.graphs,
        fragmentation_bytes=_lost_bytes(pool, kv, blocks),
        headroom_bytes=parts.gpu - parts.requested + spec.headroom_bytes,
        kv_cache_bytes=kv,
        kv_bytes_per_token=kv_bytes_per_token(spec.llm, spec.kv_dtype, layout=spec.layout),
        kv_cache_tokens=pool.printed_tokens(blocks, asked, version),
        plannable_tokens=int(concurrency * length),
        max_model_len=length,
        max_concurrency=concurrency,
        fits=kv > 0 and needed + margin <= kv,
        lines=_lines(parts, version, kv, _lost_bytes(pool, kv, blocks)),
        doubts=reasons,
        warnings=version_warnings(spec, version),
    )


def _parts(spec: FitSpec, stage: StageLayers, version: VllmVersion) -> _Parts:
    """Estimates, each replaced by what was measured; what others hold makes the GPU smaller."""
    known = spec.measured or MeasuredMemory()
    gpu = known.gpu_bytes or spec.gpu.usable_bytes
    share = spec.gpu_memory_utilization or version.utilization
    batch = batch_of(spec, version)
    estimates = (
        (known.weights_bytes, loaded_bytes(spec, stage, version)),
        (known.activation_bytes, activation_bytes(spec, version, batch)),
        (known.non_torch_bytes, non_torch_bytes(spec, version)),
        (known.cuda_graph_bytes, graph_bytes(spec, batch)),
    )
    return _Parts(
        gpu,
        int(share * gpu) - spec.headroom_bytes,
        *(round(own if told is None else told) for told, own in estimates),
    )


def _lost_bytes(pool: CachePool, kv: int, blocks: int) -> int:
    used = blocks * pool.page_bytes * pool.layers_per_group
    return round(max(0.0, kv - used) + used * pool.padding_share)


def _lines(parts: _Parts, version: VllmVersion, kv: int, lost: int) -> tuple[MemoryLine, ...]:
    logs = f"start-up logs of vLLM, {version.sampler_bytes:g} B per logit"
    counted = "taken off the cache" if version.counts_graphs else "beside it, in the headroom"
    rows: tuple[tuple[str, int | None, str | None, str], ...] = (
        ("weights", parts.weights, None, "tensors of the model, vLLM's fused layout"),
        ("cuda_context_and_nccl", parts.non_torch, None, "non-torch memory in start-up logs"),
        ("activation", parts.activation, None, logs),
        ("cuda_graphs", parts.graphs, None, f"vLLM's estimate, {counted}"),
        ("kv_cache", kv, None, "what is left of the engine's share"),
        ("fragmentation", lost, "kv_cache", "whole blocks, groups of unequal layers"),
        ("attention_workspace", None, "activation", "vLLM profiles it in the dummy run"),
        ("batching_buffers", None, "activation", "sampler and input buffers of the dummy run"),
        ("tensor_parallel_buffers", None, "cuda_context_and_nccl", "all-reduce buffers"),
        ("engine_reserve", None, "headroom", "vLLM keeps none beyond its share"),
        ("headroom", parts.gpu - parts.requested, None, "1 - gpu_memory_utilization"),
    )
    return tuple(MemoryLine(name=n, bytes=b, inside=i, source=s) for n, b, i, s in rows)


def _check(spec: FitSpec) -> None:
    share, length = spec.gpu_memory_utilization, spec.max_model_len
    if share is not None and not 0 < share <= 1:
        raise FieldError("gpu_memory_utilization", share, "above 0, up to 1")
    if length is not None and length < 1:
        raise FieldError("max_model_len", length, "1 or more")
    if not (length or spec.llm.max_context):
        raise FieldError("max_model_len", length, f"a number, since {spec.llm.id} tells none")
