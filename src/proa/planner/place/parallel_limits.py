"""How many ways a model can be split: what engines refuse at the start, found beforehand."""

from collections.abc import Iterator

from proa.domain.llm import (
    DenseFeed,
    ExpertFeed,
    GroupedAttention,
    LatentAttention,
    LinearAttention,
    LlmSpec,
    Quantization,
    WeightFormat,
)
from proa.errors import FieldError

_VOCABULARY_BLOCK = 64
_SMALLEST_GROUP = 32


def tensor_parallel_faults(
    llm: LlmSpec, tensor_parallel: int, *, expert_parallel: bool = False
) -> tuple[str, ...]:
    """Why an engine would refuse this tensor parallel size, a reason each; empty if it starts.

    heads % TP = 0; kv_heads % TP = 0, or TP % kv_heads = 0 (heads are replicated then);
    vocabulary, rounded up to 64, % TP = 0; intermediate % TP = 0; where blocks of weights share
    a scale, (intermediate / TP) % block = 0. With `expert_parallel` experts stay whole, so
    their width sets no limit, but there must be one for each GPU.

    Source:
        vLLM `config/parallel.py` (heads), `model_executor/layers/vocab_parallel_embedding.py`
        (64), `layers/linear.py` (divide), `layers/quantization/fp8.py` (blocks; also of MoE),
        `moe_wna16.py` (int4 groups shrink to 32), `mxfp4.py` (pads, so no limit).
    Not modelled:
        llama.cpp, which splits layers or rows anywhere; vision towers.
    """
    if tensor_parallel == 1:
        return ()
    faults = list(_vocabulary(llm, tensor_parallel))
    for group in llm.layers:
        match group.attention:
            case GroupedAttention() as attention:
                faults += _grouped(attention, tensor_parallel)
            case LatentAttention() as attention:
                faults += _whole("attention heads", attention.heads, tensor_parallel)
            case LinearAttention() as attention:
                faults += _linear(attention, tensor_parallel)
        match group.feed:
            case DenseFeed() as feed:
                faults += _dense(llm, feed, tensor_parallel)
            case ExpertFeed() as feed:
                faults += _experts(llm, feed, tensor_parallel, expert_parallel)
    return tuple(dict.fromkeys(faults))


def allowed_tensor_parallel(
    llm: LlmSpec, *, at_most: int, expert_parallel: bool = False
) -> tuple[int, ...]:
    """All sizes from 1 to `at_most` that an engine starts with."""
    return tuple(
        size
        for size in range(1, at_most + 1)
        if not tensor_parallel_faults(llm, size, expert_parallel=expert_parallel)
    )


def check_parallel(
    llm: LlmSpec, tensor_parallel: int, pipeline_parallel: int = 1, *, expert_parallel: bool = False
) -> None:
    """Refuse a layout that no engine starts with.

    Raises:
        FieldError: of `tp`, `pp` or `expert_parallel`, with what would be accepted.
    """
    if not 1 <= pipeline_parallel <= llm.layer_count:
        accepted = f"from 1 to the {llm.layer_count} layers of {llm.id}"
        raise FieldError("pp", pipeline_parallel, accepted)
    if expert_parallel and not _has_experts(llm):
        raise FieldError("expert_parallel", True, f"false: {llm.id} has no experts")
    faults: tuple[str, ...] = ("there is no part",)
    if tensor_parallel >= 1:
        faults = tensor_parallel_faults(llm, tensor_parallel, expert_parallel=expert_parallel)
    if faults:
        most = max(64, min(tensor_parallel, 1024))
        sizes = allowed_tensor_parallel(llm, at_most=most, expert_parallel=expert_parallel)
        told = f"one of {', '.join(map(str, sizes))} for {llm.id}"
        raise FieldError("tp", tensor_parallel, f"{told} ({'; '.join(faults)})")


def _vocabulary(llm: LlmSpec, size: int) -> Iterator[str]:
    padded = -(-llm.vocab // _VOCABULARY_BLOCK) * _VOCABULARY_BLOCK
    if padded % size:
        yield f"{llm.vocab:,} words, {padded:,} with padding, are not divisible by {size}"


def _whole(what: str, count: int, size: int) -> Iterator[str]:
    if count % size:
        yield f"{count:,} {what} are not divisible by {size}"


def _grouped(attention: GroupedAttention, size: int) -> Iterator[str]:
    yield from _whole("attention heads", attention.heads, size)
    if attention.kv_heads % size and size % attention.kv_heads:
        yield f"{attention.kv_heads} KV heads can neither be divided by {size} nor be replicated"


def _linear(attention: LinearAttention, size: int) -> Iterator[str]:
    yield from _whole("heads of linear attention", attention.value_heads, size)
    replicable = attention.form.startswith("mamba")
    if attention.key_heads % size and not (replicable and size % attention.key_heads == 0):
        yield f"{attention.key_heads} key heads of linear attention are not divisible by {size}"


def _dense(llm: LlmSpec, feed: DenseFeed, size: int) -> Iterator[str]:
    yield from _whole("rows of the feed-forward", feed.intermediate, size)
    quantization = llm.quantization
    if quantization is not None and quantization.dense_feed:
        block = _indivisible(quantization)
        yield from _blocks("of the feed-forward", feed.intermediate, size, block)


def _experts(llm: LlmSpec, feed: ExpertFeed, size: int, expert_parallel: bool) -> Iterator[str]:
    if expert_parallel:
        if feed.experts < size:
            yield f"{feed.experts} experts are fewer than {size} GPUs"
        return
    yield from _whole("rows of an expert", feed.intermediate, size)
    if llm.quantization is not None:
        block = _indivisible(llm.quantization)
        if llm.quantization.format is WeightFormat.INT4:
            block = min(block, _SMALLEST_GROUP)
        yield from _blocks("of an expert", feed.intermediate, size, block)


def _blocks(what: str, width: int, size: int, block: int) -> Iterator[str]:
    if width % size == 0 and width // size % block:
        told = f"{width:,} / {size} = {width // size:,} rows {what}"
        yield f"{told} are no multiple of a block of {block}"


def _indivisible(quantization: Quantization) -> int:
    """Rows that share a scale and that no split may cut: 8-bit weights have them in blocks only."""
    if quantization.block is not None:
        return quantization.block
    grouped = quantization.format in (WeightFormat.INT4, WeightFormat.NVFP4)
    return quantization.group_size or 1 if grouped else 1


def _has_experts(llm: LlmSpec) -> bool:
    return any(isinstance(group.feed, ExpertFeed) for group in llm.layers)
