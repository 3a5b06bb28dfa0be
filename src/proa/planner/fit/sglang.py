"""SGLang 0.4 and 0.5: a share of what is free before loading, for weights and cache.

KV cache = free after loading - (1 - mem_fraction_static) x free before loading

What the share leaves is for activations and CUDA graphs; nothing is measured at the start.

Source:
    sglang 0.5.23, srt/arg_groups/memory_hook.py, srt/mem_cache/kv_cache_configurator.py.
Not modelled:
    multimodal reservations, speculative decoding, DP attention, sizing after graph capture
    (SGLANG_ENABLE_POST_CAPTURE_KV_SIZING, off by default).
"""

from functools import lru_cache
from itertools import chain

from proa.domain.llm import GroupedAttention, LatentAttention
from proa.errors import InputError
from proa.planner.fit import sources
from proa.planner.fit.profiles import EngineProfile, parse_version
from proa.planner.fit.shared_pool import (
    GIB,
    MIB,
    Pool,
    PoolParts,
    context_tokens,
    has_states,
    has_windows,
    lines_inside,
    parts,
    plan,
    pool_of,
    token_bytes,
)
from proa.planner.fit.spec import FitPlan, FitSpec, MemoryLine
from proa.planner.memory.kv_cache import kv_bytes_per_token, layer_kv_bytes
from proa.planner.text import Text

_KNOWN = {(0, 4): "0.4", (0, 5): "0.5"}
_SWA_RATIO = 0.8
_STATE_RATIO = 0.9
# nvidia-smi tells this much more than the driver's total: 81,559 MiB against 79.19 GiB (H100).
_MANAGEMENT_MIB = 480
_SIZES = (  # below so many MiB: tokens of a prefill chunk, graphs' batch with TP < 4 and from 4 on
    (20 * 1024, 2048, 8, 8),
    (35 * 1024, 4096, 48, 160),
    (60 * 1024, 4096, 32, 160),
    (160 * 1024, 8192, 256, 512),
)
_LARGEST = (16384, 512, 512)
# Measured: 22.03 - 21.63 (4 x L4), 15.59 - 15.16 (RTX 4060 Ti), 94.97 - 93.61 (8 x RTX PRO 6000).
_CONTEXT_GIB = 0.42
_NCCL_GIB = 0.94
_LOADING_GIB = 0.14  # "mem usage" above the weights' own bytes: 1.25 for Qwen3-0.6B of 1.11


class SglangProfile(EngineProfile):
    """The start of `sglang serve`."""

    name = "sglang"

    def fit(self, spec: FitSpec) -> FitPlan:
        """The memory after a start; `max_num_batched_tokens` is --chunked-prefill-size.

        Raises:
            InputError: mem_fraction_static outside 0 to 1.
        """
        chunk, batch = _sizes(spec)
        part = parts(
            spec,
            activation=(512 + max(chunk, 2048) * 1.5) * MIB,
            non_torch=_non_torch_bytes(spec),
            graphs=_graph_mib(spec, chunk, batch) * MIB,
        )
        before = part.gpu_bytes - spec.taken_bytes - part.non_torch_bytes
        share = _share(spec, chunk, batch)
        kv_bytes = round(share * before) - part.weights_bytes - spec.headroom_bytes
        pool = _pool(spec, round(share * before), kv_bytes)
        version = parse_version(spec.engine_version or "")
        return plan(
            spec,
            part,
            pool,
            profile=_KNOWN.get((version or (0, 5))[:2], "0.5"),
            lines=_lines(part, pool, round((1 - share) * before), share)
            + lines_inside(spec, pool, "engine_reserve"),
            doubts=_doubts(spec),
        )


def default_share(gpu_mib: float, reserved_mib: float) -> float:
    """mem_fraction_static = (memory - reserved) / memory, to three decimals."""
    return round((gpu_mib - reserved_mib) / gpu_mib, 3)


def _share(spec: FitSpec, chunk: int, batch: int) -> float:
    given = spec.mem_fraction_static
    if given is None:
        given = spec.gpu_memory_utilization
    if given is None:
        gpu_mib = _management_mib(spec)
        parallel = spec.layout.tensor_parallel * spec.layout.pipeline_parallel
        reserved = 512 + max(chunk, 2048) * 1.5 + parallel / 8 * 1024
        reserved += _graph_mib(spec, chunk, batch)
        return default_share(gpu_mib, max(reserved, 10 * 1024) if gpu_mib > 60 * 1024 else reserved)
    if not 0 < given < 1:
        raise InputError(f"mem_fraction_static = {given}: accepted is above 0 and below 1")
    return given


def _management_mib(spec: FitSpec) -> float:
    return spec.gpu.usable_bytes / MIB + (_MANAGEMENT_MIB if spec.gpu.vendor == "nvidia" else 0)


def _sizes(spec: FitSpec) -> tuple[int, int]:
    """Tokens of a prefill chunk, and the largest batch of the decode graphs."""
    row = next((row[1:] for row in _SIZES if _management_mib(spec) < row[0]), _LARGEST)
    chunk = spec.max_num_batched_tokens or row[0]
    batch = row[1] if spec.layout.tensor_parallel < 4 else row[2]
    return chunk, min(batch, spec.max_num_seqs or batch)


def _graph_mib(spec: FitSpec, chunk: int, batch: int) -> float:
    """Reserve for graphs: 2 MiB per decode batch; 8 per prefill bucket, or 1.5 GiB for MLA."""
    if spec.enforce_eager:
        return 0.0
    if any(isinstance(group.attention, LatentAttention) for group in spec.llm.layers):
        return batch * 2 + 1.5 * 1024
    return batch * 2 + 8 * prefill_buckets(chunk)


@lru_cache
def prefill_buckets(most: int) -> int:
    """How many prefill sizes are captured up to `most` tokens."""
    sizes = chain(
        range(4, 33, 4),
        range(48, 257, 16),
        range(288, 513, 32),
        range(576, 1025, 64),
        range(1280, 4097, 256),
        range(4608, most + 1, 512),
    )
    return sum(size <= most for size in sizes)


def _non_torch_bytes(spec: FitSpec) -> float:
    several = spec.layout.tensor_parallel * spec.layout.pipeline_parallel > 1
    linked = spec.gpu.usable_bytes > 40 * GIB
    return (
        _CONTEXT_GIB + _LOADING_GIB * (2 if several else 1) + _NCCL_GIB * (several and linked)
    ) * GIB


def _pool(spec: FitSpec, requested: int, kv_bytes: int) -> Pool:
    """Full layers and windows have pools of their own, 1 : 0.8 in tokens; states take 0.9 : 1."""
    page = spec.block_tokens or 1
    length, room = context_tokens(spec), max(kv_bytes, 0)
    if has_states(spec.llm):
        room = int(room / (1 + _STATE_RATIO))
    elif not has_windows(spec.llm):
        return pool_of(spec, requested, kv_bytes, page)
    window_bytes, window = _window(spec)
    per_token = token_bytes(spec) - (1 - _SWA_RATIO) * window_bytes
    tokens = int(room / per_token) // page * page if per_token else 0
    concurrency = tokens / length
    if window:
        concurrency = min(concurrency, tokens * _SWA_RATIO / min(window, length))
    return Pool(
        requested_bytes=requested,
        kv_cache_bytes=kv_bytes,
        kv_cache_tokens=tokens,
        max_concurrency=concurrency,
        fragmentation_bytes=room - round(tokens * per_token),
    )


def _window(spec: FitSpec) -> tuple[float, int]:
    """Bytes of a token in the layers with a window, and the widest window."""
    size, width = 0.0, 0
    for group in spec.llm.layers:
        if isinstance(group.attention, GroupedAttention) and group.attention.window:
            each = layer_kv_bytes(
                group.attention, spec.kv_dtype, tensor_parallel=spec.layout.tensor_parallel
            )
            size += group.count * each / spec.layout.pipeline_parallel
            width = max(width, group.attention.window)
    whole = kv_bytes_per_token(spec.llm, spec.kv_dtype, layout=spec.layout)
    return min(size, whole), width


def _lines(part: PoolParts, pool: Pool, reserve: int, share: float) -> tuple[MemoryLine, ...]:
    inside = "engine_reserve"
    return (
        MemoryLine(name="weights", bytes=part.weights_bytes, source=sources.TENSORS),
        MemoryLine(
            name="cuda_context_and_nccl", bytes=part.non_torch_bytes, source=sources.START_LOGS
        ),
        MemoryLine(name="kv_cache", bytes=pool.kv_cache_bytes, source=sources.FREE_AFTER_LOADING),
        MemoryLine(name=inside, bytes=reserve, source=sources.OF_FREE.fill(share=f"{share:g}")),
        MemoryLine(name="activation", inside=inside, source=sources.named("memory_hook.py")),
        MemoryLine(name="cuda_graphs", inside=inside, source=sources.named("memory_hook.py")),
    )


def _doubts(spec: FitSpec) -> tuple[Text, ...]:
    measured = spec.measured
    doubts: list[Text] = []
    if measured is None or measured.weights_bytes is None or measured.non_torch_bytes is None:
        doubts.append(_FEW_LOGS)
    asked = spec.engine_version
    if asked is not None and (parse_version(asked) or (0, 0))[:2] not in _KNOWN:
        doubts.append(_NO_PROFILE)
    return tuple(doubts)


_FEW_LOGS = Text(
    "적재 전에 SGLang이 쓰는 몫은 적은 로그로만 확인했으므로 로그로 보정하십시오",
    "SGLang's share before loading is known from few logs: calibrate with one",
)
_NO_PROFILE = Text(
    "이 SGLang 버전의 프로파일이 없어 0.5의 것을 썼습니다",
    "no profile of this SGLang version: that of 0.5 was taken",
)
