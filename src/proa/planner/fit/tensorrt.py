"""TensorRT-LLM (PyTorch backend): a fraction of what is free after loading and profiling.

KV cache = free_gpu_memory_fraction x (GPU - peak of weights, context and profiling)

The fraction is of what is left, not of the GPU: 0.9 leaves a tenth of the rest unused.

Source:
    TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/_util.py, KvCacheCreator; llmapi KvCacheConfig.
Not modelled:
    built TensorRT engines (their activation size is fixed at build), attention windows' pools.
"""

from proa.errors import InputError
from proa.planner.fit import sources
from proa.planner.fit.profiles import EngineProfile
from proa.planner.fit.shared_pool import (
    GIB,
    PoolParts,
    lines_inside,
    parts,
    plan,
    pool_of,
    prefill_bytes,
)
from proa.planner.fit.spec import FitPlan, FitSpec, MemoryLine
from proa.planner.text import Text

_FRACTION = 0.9
_BATCHED_TOKENS = 8192
_BLOCK_TOKENS = 32
_CONTEXT_GIB = 0.7
_NCCL_GIB = 1.5
_GRAPHS_GIB = 1.0


class TensorRtProfile(EngineProfile):
    """The start of `trtllm-serve`."""

    name = "tensorrt-llm"

    def fit(self, spec: FitSpec) -> FitPlan:
        """`gpu_memory_utilization` is --kv_cache_free_gpu_memory_fraction.

        Raises:
            InputError: a fraction outside 0 to 1.
        """
        given = spec.gpu_memory_utilization
        fraction = _FRACTION if given is None else given
        if not 0 < fraction < 1:
            raise InputError(
                f"gpu_memory_utilization = {fraction}: accepted is above 0 and below 1"
            )
        part = _parts(spec)
        used = part.weights_bytes + part.activation_bytes + part.non_torch_bytes
        used += part.cuda_graph_bytes
        free = part.gpu_bytes - used - spec.taken_bytes - spec.headroom_bytes
        kv_bytes = round(fraction * free) if free > 0 else free
        pool = pool_of(spec, used + kv_bytes, kv_bytes, spec.block_tokens or _BLOCK_TOKENS)
        return plan(
            spec,
            part,
            pool,
            profile="1",
            lines=_lines(part, kv_bytes, max(free - kv_bytes, 0))
            + lines_inside(spec, pool, "activation"),
            doubts=(_ESTIMATES,),
        )


def _parts(spec: FitSpec) -> PoolParts:
    several = spec.layout.gpus > 1
    return parts(
        spec,
        activation=prefill_bytes(spec, spec.max_num_batched_tokens or _BATCHED_TOKENS),
        non_torch=(_CONTEXT_GIB + _NCCL_GIB * several) * GIB,
        graphs=_GRAPHS_GIB * GIB,
    )


def _lines(part: PoolParts, kv_bytes: int, rest: int) -> tuple[MemoryLine, ...]:
    return (
        MemoryLine(name="weights", bytes=part.weights_bytes, source=sources.TENSORS),
        MemoryLine(
            name="cuda_context_and_nccl", bytes=part.non_torch_bytes, source=sources.ESTIMATE
        ),
        MemoryLine(name="activation", bytes=part.activation_bytes, source=sources.ESTIMATE),
        MemoryLine(name="cuda_graphs", bytes=part.cuda_graph_bytes, source=sources.ESTIMATE),
        MemoryLine(name="kv_cache", bytes=kv_bytes, source=sources.named("KvCacheCreator")),
        MemoryLine(name="engine_reserve", bytes=rest, source=sources.OF_REST),
    )


_ESTIMATES = Text(
    "TensorRT-LLM의 오버헤드는 추정이며 공개된 기동 로그와 견주지 못했습니다",
    "TensorRT-LLM's overheads are estimates, no public start-up log was compared",
)
