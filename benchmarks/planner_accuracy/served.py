"""Measured serving speeds as rows, and the question to the planner that each was."""

from pathlib import Path

import msgspec

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.domain.gpu import GpuSpec
from proa.domain.llm import ExpertFeed, LatentAttention, LinearAttention, LlmSpec
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.memory.weights import with_precision
from proa.planner.speed.performance import PerformanceSpec

SERVED = Path(__file__).parents[2] / "tests" / "planner" / "data" / "serving.jsonl"

_SERVER_GPUS = 8
_SWEPT_LENGTHS = (1024, 8192)
_SWEPT_SPREAD = 0.2
_SWEPT_STREAM_INTERVAL = 10
_SGLANG_FETCHES = 10
_SGLANG_FETCHES_BUSY = 30
_SGLANG_BUSY_USERS = 16
_FORMATS = {"fp8": "fp8", "fp4": "nvfp4", "bf16": "bf16", "int4": "int4"}


class DecodeWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """The decoding half of a disaggregated deployment; `batch_size` is that of a rank."""

    batch_size: int
    workers: int
    tp: int
    dp: int
    ep: int


class ServedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One measured load, with the names of aiconfigurator's silicon_sample.csv.

    `replicas` share the users, where more than one engine answered; `decode` is the decoding
    half of a disaggregated one.
    """

    id: str
    source: str
    engine: str
    model: str
    gpu: str
    mode: str
    isl: int
    osl: int
    ttft_ms: float
    tpot_ms: float
    engine_version: str | None = None
    precision: str | None = None
    concurrency: int = 1
    batch_size: int | None = None
    tp: int | None = None
    attention_dp: int | None = None
    moe_tp: int | None = None
    moe_ep: int | None = None
    n_gpus: int | None = None
    replicas: int = 1
    decode: DecodeWorkers | None = None


def served_rows(path: Path = SERVED) -> list[ServedRow]:
    """All rows of the file."""
    decoder = msgspec.json.Decoder(ServedRow)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def served_spec(row: ServedRow) -> PerformanceSpec:
    """What the row asked the engine; the cache's places are those that `fit` plans.

    Not said by the rows and taken for granted: an fp8 cache with TensorRT-LLM, with NVFP4
    weights, with NVIDIA's own checkpoints, and with SGLang on Blackwell. Rows of 1024 and 8192
    tokens come from the public sweep InferenceMAX (now InferenceX): its lengths are drawn evenly
    from 0.8 to 1 of those that the row names; `_held_steps` says what its scripts hold back.
    All other rows have one length.

    Source:
        InferenceMAX, benchmarks/*.sh (--random-range-ratio) and
        kimbochen/bench_serving, sample_random_requests.
    """
    llm, gpu = row_model(row), find_gpu(row.gpu)
    layout, users = row_layout(row), row.concurrency / row.replicas
    if row.decode is not None:
        users = float(row.decode.batch_size * row.decode.dp)
    spread = _SWEPT_SPREAD if _is_swept(row) else 0.0
    kv_dtype = KvDtype.FP8 if _is_fp8_cache(row, gpu) else KvDtype.AUTO
    wide = layout.tensor_parallel > _SERVER_GPUS and gpu.id.startswith("h")
    return PerformanceSpec(
        llm=llm,
        gpu=gpu,
        layout=layout,
        engine=row.engine,
        input_tokens=row.isl * (1 - spread / 2),
        output_tokens=row.osl * (1 - spread / 2),
        users=float(users),
        places=_places(FitSpec(llm=llm, gpu=gpu, layout=layout, kv_dtype=kv_dtype), row, spread),
        kv_dtype=kv_dtype,
        link="infiniband" if wide else None,
        prefill_elsewhere=row.decode is not None,
        length_spread=spread,
        held_steps=_held_steps(row) if _is_swept(row) else 0.0,
    )


def row_layout(row: ServedRow) -> LayoutSpec:
    """The layout of one engine.

    The table multiplies some sizes twice: where ranks x ranks of a server's 8 are told, each
    GPU counts once, and attention is data parallel if `attention_dp` says so. Racks of GB200
    with more than 8 ranks run data-parallel attention with whole experts on each.
    """
    if row.decode is not None:
        found = row.decode
        return LayoutSpec(
            tensor_parallel=found.tp, data_parallel=found.dp, expert_parallel=found.ep > 1
        )
    ranks, copies = row.tp or row.n_gpus or 1, row.attention_dp or 1
    experts = row.moe_ep or 1
    if copies > 1:
        return LayoutSpec(data_parallel=min(copies, _SERVER_GPUS), expert_parallel=True)
    if ranks > _SERVER_GPUS and row.gpu.startswith("gb"):
        return LayoutSpec(data_parallel=ranks, expert_parallel=True)
    if row.n_gpus is None:
        ranks = min(ranks, _SERVER_GPUS)
    return LayoutSpec(tensor_parallel=ranks, expert_parallel=experts > 1)


def row_model(row: ServedRow) -> LlmSpec:
    """The catalogue's model in the row's precision."""
    llm = find_model(row.model.rpartition("/")[2])
    wanted = _FORMATS.get(row.precision or "")
    own = llm.quantization.format.value if llm.quantization else "bf16"
    if wanted is None or own in (wanted, "mxfp4"):
        return llm
    return with_precision(llm, wanted)


def kinds(row: ServedRow) -> tuple[str, ...]:
    """The slices that a row belongs to: kind of model, engine, GPU, precision."""
    llm = row_model(row)
    attentions = {type(group.attention) for group in llm.layers}
    sparse = any(isinstance(group.feed, ExpertFeed) for group in llm.layers)
    names = ["moe" if sparse else "dense", row.engine, find_gpu(row.gpu).id]
    names += [name for kind, name in _KINDS if kind in attentions]
    return (*names, row.precision or "own precision")


_KINDS = ((LatentAttention, "mla"), (LinearAttention, "hybrid"))


def _is_fp8_cache(row: ServedRow, gpu: GpuSpec) -> bool:
    quantised = row.precision in ("fp8", "fp4")
    if row.engine == "tensorrt-llm" or (row.engine == "sglang" and gpu.family == "blackwell"):
        return quantised
    return row.precision == "fp4" or row.model.startswith("nvidia/")


def _is_swept(row: ServedRow) -> bool:
    """Whether the row is one of InferenceMAX, which aiconfigurator's table holds beside its own."""
    swept = row.isl in _SWEPT_LENGTHS and row.osl in _SWEPT_LENGTHS
    return swept and row.source.startswith("aiconfigurator")


def _held_steps(row: ServedRow) -> float:
    """Steps by which the sweep's flags hold the first token back.

    TensorRT-LLM gathers 10 tokens. SGLang fetches requests every 10 or 30 steps in the scripts
    of DeepSeek on B200, every 10 in those of Qwen3.5 on B300 and of GLM-5 in FP4; one comes
    midway. Not taken from a script: that of gpt-oss asks TensorRT-LLM for 20 tokens, but its
    times, two steps after the prompt, show that the first is sent at once.

    Source:
        InferenceX, benchmarks/single_node/{dsr1,glm5,qwen3.5}_*.sh
    """
    model, gpu = row.model.rpartition("/")[2], row.gpu.lower()
    if row.engine == "tensorrt-llm":
        return 0.0 if model.startswith("gpt-oss") else _SWEPT_STREAM_INTERVAL - 1.0
    if row.engine != "sglang":
        return 0.0
    if model.startswith("DeepSeek") and gpu.startswith("b200"):
        busy = row.concurrency >= _SGLANG_BUSY_USERS
        return (_SGLANG_FETCHES_BUSY if busy else _SGLANG_FETCHES) / 2
    seldom = model.startswith("Qwen3.5") and gpu.startswith("b300")
    seldom |= model.startswith("GLM-5") and row.precision == "fp4"
    return _SGLANG_FETCHES / 2 if seldom else 0.0


def _places(start: FitSpec, row: ServedRow, spread: float) -> float | None:
    """Sequences of the row's mean context that fit together; None if the weights alone do not."""
    context = round((row.isl + row.osl / 2) * (1 - spread / 2))
    planned = fit(msgspec.structs.replace(start, max_model_len=context))
    each = planned.max_concurrency
    return each * start.layout.data_parallel if each > 0 else None
