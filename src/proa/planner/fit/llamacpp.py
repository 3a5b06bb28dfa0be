"""llama.cpp: nothing is shared out; it takes what the flags ask for, or does not start.

KV cache = cells x layers x (K + V dimension) x bytes, in one piece per layer. Cells are the
context of a slot, rounded up to 256, times the slots. Layers with a window have
window + ubatch cells per slot. Latent attention keeps one vector and no V.

Source:
    llama.cpp, src/llama-kv-cache.cpp, src/llama-kv-cache-iswa.cpp, common/arg.cpp.
Not modelled:
    part of the layers in RAM (`-ngl`), tensor split by rows, mmproj, draft models.
"""

from math import ceil

import msgspec

from proa.domain.llm import GroupedAttention, WeightFormat
from proa.errors import InputError
from proa.planner.fit import sources
from proa.planner.fit.profiles import EngineProfile
from proa.planner.fit.shared_pool import (
    MIB,
    UNSURE_SHARE,
    Pool,
    PoolParts,
    context_tokens,
    lines_inside,
    parts,
    plan,
    token_bytes,
)
from proa.planner.fit.spec import FitPlan, FitSpec, MemoryLine
from proa.planner.layout import pipeline_stages
from proa.planner.memory.gguf import gguf_weights_bytes
from proa.planner.memory.kv_cache import layer_kv_bytes, layer_state_bytes
from proa.planner.text import Text

_CELLS = 256
_SLOTS = 4
_UBATCH = 512
_CONTEXT_MIB = 350
_SURE_SHARE = 0.01  # of the GPU: the size of the context
_FILE_SHARE = 0.06  # of the weights: files of one mixture differ in bits per weight


class LlamaCppProfile(EngineProfile):
    """The start of `llama-server -ngl all -fa on`."""

    name = "llamacpp"

    def fit(self, spec: FitSpec) -> FitPlan:
        """`max_num_seqs` are slots (-np), `max_num_batched_tokens` is -ub; layers are split.

        Raises:
            InputError: tensor parallelism, which llama.cpp does not do by default.
        """
        if spec.layout.tensor_parallel > 1:
            raise InputError(
                f"tensor_parallel = {spec.layout.tensor_parallel}: llama.cpp splits layers, "
                "accepted is 1 with pipeline_parallel = the number of GPUs"
            )
        part = _parts(spec)
        kv_bytes = cache_bytes(spec)
        taken = part.weights_bytes + part.activation_bytes + part.non_torch_bytes + kv_bytes
        room = part.gpu_bytes - spec.taken_bytes - spec.headroom_bytes
        slots = spec.max_num_seqs or _SLOTS
        pool = Pool(
            requested_bytes=taken,
            kv_cache_bytes=kv_bytes,
            kv_cache_tokens=cells(context_tokens(spec)) * slots,
            max_concurrency=float(slots),
        )
        answer = plan(
            spec,
            part,
            pool,
            profile="2024-2026",
            lines=_lines(part, kv_bytes) + lines_inside(spec, pool, "activation"),
            doubts=_doubts(spec),
        )
        margin = part.gpu_bytes * (UNSURE_SHARE if answer.doubts else _SURE_SHARE)
        if not (spec.measured and spec.measured.weights_bytes):
            margin += part.weights_bytes * _FILE_SHARE
        return msgspec.structs.replace(answer, fits=taken + margin <= room)


def cells(tokens: int) -> int:
    """Places for `tokens`, in whole 256."""
    return ceil(tokens / _CELLS) * _CELLS


def cache_bytes(spec: FitSpec) -> int:
    """KV cache and states of all slots on the GPU that holds most layers.

    Examples:
        gpt-oss-120b, 2 slots of 131,072: 9,216 MiB in full layers (ollama/ollama#16480);
        DeepSeek, one of 32,768: 61 x 576 x 2 x 32,768 = 2,196 MiB.
    """
    slots = spec.max_num_seqs or _SLOTS
    full = cells(context_tokens(spec)) * slots
    rows = []
    for group in spec.llm.layers:
        attention, held = group.attention, full
        if isinstance(attention, GroupedAttention) and attention.window:
            wanted = attention.window + (spec.max_num_batched_tokens or _UBATCH)
            held = min(full, cells(wanted) * slots)
        rows.append(
            held * layer_kv_bytes(attention, spec.kv_dtype) + slots * layer_state_bytes(attention)
        )
    stages = pipeline_stages(spec.llm, spec.layout)
    return ceil(
        max(
            sum(count * row for count, row in zip(stage.counts, rows, strict=True))
            for stage in stages
        )
    )


def compute_bytes(spec: FitSpec) -> int:
    """The graph's scratch: fp32 logits and hidden states of one ubatch, with flash attention.

    512 x (128,256 + 4,096) x 4 = 258.5 MiB for Llama 3 8B, as it logged in 2024 and 2025. Builds
    of 2026 keep logits only of tokens that are answered and take less, so this is the most.
    """
    ubatch = spec.max_num_batched_tokens or _UBATCH
    return ubatch * (spec.llm.vocab + spec.llm.hidden) * 4


def _parts(spec: FitSpec) -> PoolParts:
    part = parts(spec, activation=compute_bytes(spec), non_torch=_CONTEXT_MIB * MIB, graphs=0.0)
    measured = spec.measured
    weights = gguf_weights_bytes(spec.llm, spec.layout)
    if weights is None or (measured is not None and measured.weights_bytes is not None):
        return part
    return msgspec.structs.replace(part, weights_bytes=weights)


def _lines(part: PoolParts, kv_bytes: int) -> tuple[MemoryLine, ...]:
    return (
        MemoryLine(name="weights", bytes=part.weights_bytes, source=sources.FILE_BITS),
        MemoryLine(name="kv_cache", bytes=kv_bytes, source=sources.CELLS),
        MemoryLine(name="activation", bytes=part.activation_bytes, source=sources.UBATCH),
        MemoryLine(
            name="cuda_context_and_nccl",
            bytes=part.non_torch_bytes,
            source=sources.named("CUDA context, cuBLAS"),
        ),
        MemoryLine(name="cuda_graphs", inside="cuda_context_and_nccl", source=sources.GRAPHS_SMALL),
    )


def _doubts(spec: FitSpec) -> tuple[Text, ...]:
    if spec.measured is not None and spec.measured.activation_bytes is not None:
        return ()
    attentions = [group.attention for group in spec.llm.layers]
    plain = all(isinstance(each, GroupedAttention) and not each.window for each in attentions)
    named = spec.plain is not WeightFormat.FP32
    if plain and named and token_bytes(spec):
        return ()
    return (_ROUGH,)


_ROUGH = Text(
    "이 구조의 연산 버퍼는 대략만 알므로 로그로 보정하십시오",
    "the compute buffer of this architecture is known roughly: calibrate with a log",
)
