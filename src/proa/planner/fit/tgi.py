"""TGI 2 and 3: after a warm-up prefill, the cache gets what is free under a share of the GPU.

KV cache = wiggle room x memory fraction x GPU - context - weights - warm-up's scratch

Source:
    text-generation-inference, server/text_generation_server/models/flash_causal_lm.py, warmup;
    models/globals.py, TGI_WIGGLE_ROOM (0.90), docs of --cuda-memory-fraction (1.0).
Not modelled:
    the automatic --max-batch-prefill-tokens of TGI 3, vision towers' warm-up images.
"""

from proa.errors import InputError
from proa.planner.fit import sources
from proa.planner.fit.profiles import EngineProfile, parse_version
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

_WIGGLE_ROOM = 0.90
_PREFILL_TOKENS = 4096
_CONTEXT_GIB = 0.5
_NCCL_GIB = 1.0


class TgiProfile(EngineProfile):
    """The start of `text-generation-launcher`."""

    name = "tgi"

    def fit(self, spec: FitSpec) -> FitPlan:
        """`gpu_memory_utilization` is --cuda-memory-fraction, a block holds one token.

        Raises:
            InputError: a fraction outside 0 to 1.
        """
        fraction = 1.0 if spec.gpu_memory_utilization is None else spec.gpu_memory_utilization
        if not 0 < fraction <= 1:
            raise InputError(
                f"gpu_memory_utilization = {fraction}: accepted is above 0 and up to 1"
            )
        chunk = spec.max_num_batched_tokens or _PREFILL_TOKENS
        several = spec.layout.gpus > 1
        part = parts(
            spec,
            activation=prefill_bytes(spec, chunk),
            non_torch=(_CONTEXT_GIB + _NCCL_GIB * several) * GIB,
            graphs=0.0,
        )
        requested = round(_WIGGLE_ROOM * fraction * part.gpu_bytes)
        used = part.weights_bytes + part.activation_bytes + part.non_torch_bytes
        kv_bytes = requested - used - spec.taken_bytes - spec.headroom_bytes
        pool = pool_of(spec, requested, kv_bytes, spec.block_tokens or 1)
        return plan(
            spec,
            part,
            pool,
            profile="3",
            lines=_lines(part, kv_bytes, part.gpu_bytes - requested)
            + lines_inside(spec, pool, "activation"),
            doubts=_doubts(spec),
        )


def _lines(part: PoolParts, kv_bytes: int, reserve: int) -> tuple[MemoryLine, ...]:
    return (
        MemoryLine(name="weights", bytes=part.weights_bytes, source=sources.TENSORS),
        MemoryLine(
            name="cuda_context_and_nccl", bytes=part.non_torch_bytes, source=sources.ESTIMATE
        ),
        MemoryLine(name="activation", bytes=part.activation_bytes, source=sources.ESTIMATE),
        MemoryLine(
            name="kv_cache", bytes=kv_bytes, source=sources.named("flash_causal_lm.py, warmup")
        ),
        MemoryLine(
            name="engine_reserve", bytes=reserve, source=sources.named("TGI_WIGGLE_ROOM = 0.90")
        ),
        MemoryLine(name="cuda_graphs", inside="engine_reserve", source=sources.GRAPHS_LATER),
    )


def _doubts(spec: FitSpec) -> tuple[Text, ...]:
    doubts = [_ESTIMATES]
    if (parse_version(spec.engine_version or "3.0") or (3, 0))[0] not in (2, 3):
        doubts.append(_NO_PROFILE)
    return tuple(doubts)


_ESTIMATES = Text(
    "TGI의 오버헤드는 추정이며 공개된 기동 로그와 견주지 못했습니다",
    "TGI's overheads are estimates, no public start-up log was compared",
)
_NO_PROFILE = Text(
    "이 TGI 버전의 프로파일이 없어 3의 것을 썼습니다",
    "no profile of this TGI version: that of 3 was taken",
)
