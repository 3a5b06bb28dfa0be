"""vLLM, pinned by version: the budget of `determine_available_memory`."""

from typing import ClassVar, NamedTuple

from proa.errors import FieldError
from proa.planner.fit import sources
from proa.planner.fit.profiles import EngineProfile, Version, nearest
from proa.planner.fit.spec import FitPlan, FitSpec, MeasuredMemory, MemoryLine
from proa.planner.fit.vllm_cache import Asked, CachePool, cache_dtype, cache_pool
from proa.planner.fit.vllm_doubts import doubts, version_warnings
from proa.planner.fit.vllm_overheads import (
    activation_bytes,
    batch_of,
    graph_bytes,
    non_torch_bytes,
)
from proa.planner.fit.vllm_versions import VLLM_VERSIONS, VllmVersion
from proa.planner.fit.vllm_weights import loaded_bytes
from proa.planner.layout import StageLayers, pipeline_stages
from proa.planner.memory.kv_cache import kv_bytes_per_token
from proa.planner.text import Text

_SURE_MARGIN, _UNSURE_MARGIN = (0.005, 0.03), (0.04, 0.10)
"""Shares of the GPU and of the cache that a plan which says "fits" leaves free."""


class VllmProfile(EngineProfile):
    """KV = utilization x total - weights - activation - non-torch - CUDA graphs."""

    name: ClassVar[str] = "vllm"

    def fit(self, spec: FitSpec) -> FitPlan:
        """The memory after a start; the stage that holds the fewest sequences decides for all.

        `fits` leaves 0.5 % of the GPU and 3 % of the cache, 4 % and 10 % where there are doubts.

        Source:
            vLLM, v1/worker/gpu_worker.py, determine_available_memory.

        Raises:
            FieldError: no utilisation that is a share, more stages than layers, no context known.
        """
        _check(spec)
        key, version, _ = nearest(VLLM_VERSIONS, spec.engine_version)
        unequal = dict.fromkeys(pipeline_stages(spec.llm, spec.layout))
        stages = [_stage(spec, stage, version) for stage in unequal]
        fullest = min(stages, key=lambda stage: (stage[1].concurrency, stage[1].kv_bytes))
        return _plan(spec, *fullest, (key, version))


class _Parts(NamedTuple):
    gpu: int
    requested: int
    weights: int
    activation: int
    non_torch: int
    graphs: int

    @property
    def taken(self) -> int:
        """What is not the cache's, graphs apart."""
        return self.weights + self.activation + self.non_torch


class _Cache(NamedTuple):
    kv_bytes: int
    pool: CachePool
    asked: Asked

    @property
    def blocks(self) -> int:
        return self.pool.blocks(self.kv_bytes)

    @property
    def concurrency(self) -> float:
        return self.pool.concurrency(self.blocks)

    @property
    def block_bytes(self) -> float:
        return self.pool.page_bytes * self.pool.layers_per_group

    @property
    def lost_bytes(self) -> int:
        """Beyond whole blocks, and in blocks of groups that have fewer layers than others."""
        used = self.blocks * self.block_bytes
        return round(max(0.0, self.kv_bytes - used) + used * self.pool.padding_share)


def _stage(spec: FitSpec, stage: StageLayers, version: VllmVersion) -> tuple[_Parts, _Cache]:
    parts = _parts(spec, stage, version)
    return parts, _cache(spec, stage, parts, version)


def _plan(
    spec: FitSpec, parts: _Parts, cache: _Cache, pinned: tuple[Version, VllmVersion]
) -> FitPlan:
    version = pinned[1]
    reasons = doubts(spec, version)
    concurrency = cache.concurrency
    return FitPlan(
        engine="vllm",
        engine_version=spec.engine_version or "",
        profile=".".join(map(str, pinned[0])),
        gpu_bytes=parts.gpu,
        requested_bytes=parts.requested,
        weights_bytes=parts.weights,
        activation_bytes=parts.activation,
        non_torch_bytes=parts.non_torch,
        cuda_graph_bytes=parts.graphs,
        fragmentation_bytes=cache.lost_bytes,
        headroom_bytes=parts.gpu - parts.requested,
        kv_cache_bytes=cache.kv_bytes,
        kv_bytes_per_token=kv_bytes_per_token(
            spec.llm, cache_dtype(spec, version), layout=spec.layout
        ),
        kv_cache_tokens=cache.pool.printed_tokens(cache.blocks, cache.asked, version),
        plannable_tokens=int(concurrency * cache.asked.max_model_len),
        max_model_len=cache.asked.max_model_len,
        max_concurrency=concurrency,
        fits=_fits(spec, parts, cache, sure=not reasons),
        lines=_lines(parts, version, cache),
        doubts=reasons,
        warnings=version_warnings(spec, version),
    )


def _cache(spec: FitSpec, stage: StageLayers, parts: _Parts, version: VllmVersion) -> _Cache:
    kv = parts.requested - parts.taken - (parts.graphs if version.counts_graphs else 0)
    length = spec.max_model_len or spec.llm.max_context
    tokens = batch_of(spec, version).tokens * version.steps_in_flight
    asked = Asked(length, tokens, spec.draft_tokens)
    told = spec.kv_cache_memory_bytes
    return _Cache(kv if told is None else told, cache_pool(spec, stage, asked, version), asked)


def _fits(spec: FitSpec, parts: _Parts, cache: _Cache, *, sure: bool) -> bool:
    """A sequence of the longest context has room, with a margin, and the engine its share."""
    of_gpu, of_cache = _SURE_MARGIN if sure else _UNSURE_MARGIN
    margin = max(parts.gpu * of_gpu, cache.kv_bytes * of_cache)
    needed = cache.pool.blocks_per_sequence * cache.block_bytes
    share = parts.requested
    if spec.kv_cache_memory_bytes is not None:
        share = parts.taken + spec.kv_cache_memory_bytes
    return needed + margin <= cache.kv_bytes and share + spec.taken_bytes <= parts.gpu


def _parts(spec: FitSpec, stage: StageLayers, version: VllmVersion) -> _Parts:
    """Estimates, each replaced by what was measured."""
    known = spec.measured or MeasuredMemory()
    gpu = known.gpu_bytes or spec.gpu.usable_bytes
    share = spec.gpu_memory_utilization or version.utilization
    batch = batch_of(spec, version)
    estimates = (
        (known.weights_bytes, loaded_bytes(spec, stage, version)),
        (known.activation_bytes, activation_bytes(spec, version, batch, samples=stage.last)),
        (known.non_torch_bytes, non_torch_bytes(spec, version)),
        (known.cuda_graph_bytes, graph_bytes(spec, batch)),
    )
    return _Parts(
        gpu,
        int(share * gpu) - spec.headroom_bytes,
        *(round(own if told is None else told) for told, own in estimates),
    )


def _lines(parts: _Parts, version: VllmVersion, cache: _Cache) -> tuple[MemoryLine, ...]:
    logs = sources.sampler(version.sampler_bytes)
    beside = None if version.counts_graphs else "headroom"
    rows: tuple[tuple[str, int | None, str | None, Text], ...] = (
        ("weights", parts.weights, None, sources.FUSED_TENSORS),
        ("cuda_context_and_nccl", parts.non_torch, None, sources.NON_TORCH),
        ("activation", parts.activation, None, logs),
        ("cuda_graphs", parts.graphs, beside, sources.GRAPHS),
        ("kv_cache", cache.kv_bytes, None, sources.SHARE_LEFT),
        ("fragmentation", cache.lost_bytes, "kv_cache", sources.BLOCKS_AND_GROUPS),
        ("attention_workspace", None, "activation", sources.DUMMY_RUN),
        ("batching_buffers", None, "activation", sources.DUMMY_BUFFERS),
        ("tensor_parallel_buffers", None, "cuda_context_and_nccl", sources.ALL_REDUCE),
        ("engine_reserve", None, "headroom", sources.NO_RESERVE),
        (
            "headroom",
            parts.gpu - parts.requested,
            None,
            sources.named("1 - gpu_memory_utilization"),
        ),
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
