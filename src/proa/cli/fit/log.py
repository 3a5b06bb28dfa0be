"""The lines that an engine would log at its start, in its own words and units."""

from collections.abc import Callable

from proa.planner.fit.spec import FitPlan, FitSpec

_GIB, _MIB = 2**30, 2**20


def engine_lines(plan: FitPlan, spec: FitSpec) -> list[str]:
    """Without times, ranks and file names; "GB" of SGLang is GiB, as it writes it."""
    return _ENGINES[plan.engine](plan, spec)


def _gib(count: float) -> str:
    return f"{round(count / _GIB, 2)}"


def _vllm(plan: FitPlan, spec: FitSpec) -> list[str]:
    lines = [f"Model loading took {_gib(plan.weights_bytes)} GiB memory"]
    if plan.cuda_graph_bytes:
        lines.append(f"Estimated CUDA graph memory: {plan.cuda_graph_bytes / _GIB:.2f} GiB total")
    lines.append(f"Available KV cache memory: {_gib(plan.kv_cache_bytes)} GiB")
    if not plan.fits:
        return [*lines, *_refusal(plan)]
    return [
        *lines,
        f"GPU KV cache size: {plan.kv_cache_tokens:,} tokens",
        (
            f"Maximum concurrency for {plan.max_model_len:,} tokens per request: "
            f"{plan.max_concurrency:.2f}x"
        ),
    ]


def _refusal(plan: FitPlan) -> list[str]:
    if plan.kv_cache_bytes <= 0:
        return ["ValueError: No available memory for the cache blocks."]
    return [
        (
            "ValueError: To serve at least one request with the models's max seq len "
            f"({plan.max_model_len}), more KV cache memory is needed than is available "
            f"({_gib(plan.kv_cache_bytes)} GiB)."
        )
    ]


def _sglang(plan: FitPlan, spec: FitSpec) -> list[str]:
    lines = [f"Load weight end. mem usage={plan.weights_bytes / _GIB:.2f} GB."]
    if plan.kv_cache_tokens <= 0:
        return [
            *lines,
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        ]
    half = plan.kv_cache_bytes / 2 / _GIB
    return [
        *lines,
        (
            f"KV Cache is allocated. #tokens: {plan.kv_cache_tokens}, "
            f"K size: {half:.2f} GB, V size: {half:.2f} GB"
        ),
        f"max_total_num_tokens={plan.kv_cache_tokens}, context_len={plan.max_model_len}",
    ]


def _llamacpp(plan: FitPlan, spec: FitSpec) -> list[str]:
    slots = int(plan.max_concurrency)
    return [
        f"load_tensors: model buffer size = {plan.weights_bytes / _MIB:8.2f} MiB",
        f"llama_context: n_seq_max     = {slots}",
        f"llama_context: n_ctx_seq     = {plan.max_model_len}",
        (
            f"llama_kv_cache: size = {plan.kv_cache_bytes / _MIB:7.2f} MiB "
            f"({plan.kv_cache_tokens // slots:6d} cells, {spec.llm.layer_count:3d} layers, "
            f"{slots:2d}/{slots} seqs)"
        ),
        f"llama_context: compute buffer size = {plan.activation_bytes / _MIB:8.2f} MiB",
    ]


def _tgi(plan: FitPlan, spec: FitSpec) -> list[str]:
    block = spec.block_tokens or 1
    return [
        f"KV-cache blocks: {plan.kv_cache_tokens // block}, size: {block}",
        f"Setting max batch total tokens to {plan.kv_cache_tokens}",
    ]


def _tensorrt(plan: FitPlan, spec: FitSpec) -> list[str]:
    peak = plan.requested_bytes - plan.kv_cache_bytes
    return [
        (
            "Peak memory during memory usage profiling (torch + non-torch): "
            f"{peak / _GIB:.2f} GiB, available KV cache memory when calculating max tokens: "
            f"{plan.kv_cache_bytes / _GIB:.2f} GiB"
        ),
        f"Max tokens in paged KV cache: {plan.kv_cache_tokens}",
    ]


_ENGINES: dict[str, Callable[[FitPlan, FitSpec], list[str]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "llamacpp": _llamacpp,
    "tgi": _tgi,
    "tensorrt-llm": _tensorrt,
}
