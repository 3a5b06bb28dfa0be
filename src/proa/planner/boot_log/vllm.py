"""vLLM's start-up log, from 0.5 (V0) to 0.33 (V1)."""

import re

from proa.planner.boot_log.facts import BootFlags, BootLog, TokenMeaning
from proa.planner.boot_log.flags import real_setting, switch_setting, text_setting, whole_setting
from proa.planner.boot_log.scan import (
    Amounts,
    amounts,
    argument_lines,
    binding_rank,
    gib_bytes,
    last_start,
    pick,
    whole,
)
from proa.planner.boot_log.vllm_lines import (
    ARCHITECTURE,
    CACHE_GIVEN,
    ESSENTIAL,
    GRAPHS_COUNTED,
    MODEL,
    OF_ENGINE,
    OPENING,
    PER_RANK,
    VERSIONS,
)


def read_vllm(text: str) -> BootLog:
    """The facts of the last complete start in `text`, which is free of colours."""
    text = last_start(text, OPENING, ESSENTIAL)
    found = amounts(text, PER_RANK)
    engine = amounts(text, OF_ENGINE)
    rank = binding_rank(found, "kv")
    flags = _flags(text, found, engine)
    tokens = whole(pick(engine, "tokens", "least"))
    blocks = whole(pick(engine, "blocks", "least"))
    concurrency = pick(engine, "concurrency", "least")
    version = _first(text, VERSIONS)
    graphs = pick(found, "graph_estimated", "most", rank)
    counted = _counted(text)
    if tokens is None and blocks is not None:
        tokens = blocks * (flags.block_size or 16)
    return BootLog(
        engine="vllm",
        engine_version=version,
        architecture=_first(text, ARCHITECTURE),
        flags=flags,
        ranks=sum("kv" in facts for facts in found.values()) or 1,
        gpu_total_bytes=gib_bytes(pick(found, "total", "least", rank)),
        gpu_free_bytes=gib_bytes(pick(found, "free", "least", rank)),
        budget_bytes=gib_bytes(pick(found, "budget", "least", rank)),
        weights_bytes=gib_bytes(pick(found, "weights", "most", rank)),
        activation_bytes=gib_bytes(_activation(found, rank, counted=counted)),
        non_torch_bytes=gib_bytes(pick(found, "non_torch", "most", rank)),
        consumed_bytes=gib_bytes(pick(found, "consumed", "most", rank)),
        cuda_graph_bytes=gib_bytes(pick(found, "graph", "most", rank)),
        cuda_graph_estimated_bytes=gib_bytes(graphs),
        cuda_graphs_counted=counted,
        kv_cache_bytes=gib_bytes(pick(found, "kv", "least", rank)),
        is_cache_given=CACHE_GIVEN.search(text) is not None,
        kv_cache_tokens=tokens,
        kv_blocks=blocks,
        max_concurrency=concurrency,
        token_meaning=_meaning(tokens, concurrency, flags.max_model_len),
    )


def _first(text: str, patterns: tuple[re.Pattern[str], ...]) -> str | None:
    for pattern in patterns:
        if match := pattern.search(text):
            return match[1]
    return None


def _flags(text: str, found: Amounts, engine: Amounts) -> BootFlags:
    whole_text, text = text, argument_lines(text)
    share = real_setting(text, "gpu_memory_utilization")
    length = whole(pick(engine, "length", "least"))
    return BootFlags(
        model=_first(text, MODEL) or text_setting(text, "model_tag", "model"),
        gpu_memory_utilization=pick(found, "share", "least") if share is None else share,
        max_model_len=length or whole_setting(text, "max_seq_len", "max_model_len"),
        max_num_batched_tokens=whole_setting(text, "max_num_batched_tokens")
        or _default(whole_text, "max_num_batched_tokens"),
        max_num_seqs=whole_setting(text, "max_num_seqs") or _default(whole_text, "max_num_seqs"),
        tensor_parallel=whole_setting(text, "tensor_parallel_size"),
        pipeline_parallel=whole_setting(text, "pipeline_parallel_size"),
        data_parallel=whole_setting(text, "data_parallel_size"),
        expert_parallel=switch_setting(text, "enable_expert_parallel"),
        dtype=text_setting(text, "dtype"),
        kv_dtype=text_setting(text, "kv_cache_dtype"),
        quantization=text_setting(text, "quantization"),
        enforce_eager=switch_setting(text, "enforce_eager"),
        block_size=whole(pick(engine, "block", "most")) or whole_setting(text, "block_size"),
    )


def _default(text: str, key: str) -> int | None:
    match = re.search(rf"Defaulting {key} to (\d+)", text)
    return int(match[1]) if match else None


def _activation(found: Amounts, rank: str | None, *, counted: bool | None) -> float | None:
    """Peak of torch above the weights.

    The closing line's "peak activation" of versions that count graphs has their estimate in it.
    """
    activation = pick(found, "activation", "most", rank)
    if activation is not None:
        return activation
    peak = pick(found, "peak", "most", rank)
    if peak is not None:
        graphs = pick(found, "graph_estimated", "most", rank) if counted else 0.0
        return peak - (graphs or 0.0)
    peak_torch = pick(found, "peak_torch", "most", rank)
    weights = pick(found, "weights", "most", rank)
    return None if peak_torch is None or weights is None else peak_torch - weights


def _counted(text: str) -> bool | None:
    match = GRAPHS_COUNTED.search(text)
    return None if match is None else match[1] != "disabled"


def _meaning(
    tokens: int | None, concurrency: float | None, length: int | None
) -> TokenMeaning | None:
    """Told by the numbers themselves: "x" has two decimals, so half of one is the tolerance."""
    if tokens is None:
        return None
    if concurrency is None or length is None:
        return None
    near = abs(tokens - concurrency * length) <= 0.0051 * length + 1
    return TokenMeaning.CONCURRENCY if near else TokenMeaning.BLOCKS
