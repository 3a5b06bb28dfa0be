"""What a start-up log said, in bytes and tokens."""

from enum import StrEnum

import msgspec

GIB = 2**30
MIB = 2**20


class TokenMeaning(StrEnum):
    """What the line "KV cache size: N tokens" counts.

    `BLOCKS`: blocks // groups x block size (vLLM until about 0.20). `CONCURRENCY`: how many
    whole sequences of `max_model_len` fit, times that length (vLLM after it; the same number
    where all layers see everything). `CELLS`: places per layer (SGLang, llama.cpp).

    Source:
        vllm-project/vllm#40691, #51041.
    """

    BLOCKS = "blocks"
    CONCURRENCY = "concurrency"
    CELLS = "cells"


class BootFlags(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings of that start, as far as the log tells them."""

    model: str | None = None
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: bool | None = None
    dtype: str | None = None
    kv_dtype: str | None = None
    quantization: str | None = None
    enforce_eager: bool | None = None
    block_size: int | None = None


class BootLog(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One engine's start; memory is that of the GPU (rank) that had least left for its KV cache.

    `gpu_free_bytes` was free before the engine took anything, `gpu_total_bytes` is what the
    driver reports. `budget_bytes` is what the engine allowed itself. `consumed_bytes` are
    weights and non-torch memory together, where a version does not part them.
    `cuda_graphs_counted` tells whether `cuda_graph_estimated_bytes` was taken from the KV cache.
    `weights_bytes` and `host_weights_bytes`: what lies on the GPU, and what in RAM.
    `kv_cache_bytes` per GPU; `kv_cache_tokens` and `max_concurrency` per replica, with what the
    number of tokens means in `token_meaning`. `state_bytes` are recurrent states beside it,
    `swa_tokens` the places of sliding-window layers. `free_after_load_bytes` (SGLang) was left
    when the weights were in.
    """

    engine: str
    engine_version: str | None = None
    architecture: str | None = None
    gpu_name: str | None = None
    flags: BootFlags = BootFlags()
    ranks: int = 1
    gpu_total_bytes: int | None = None
    gpu_free_bytes: int | None = None
    budget_bytes: int | None = None
    weights_bytes: int | None = None
    host_weights_bytes: int | None = None
    activation_bytes: int | None = None
    non_torch_bytes: int | None = None
    consumed_bytes: int | None = None
    cuda_graph_bytes: int | None = None
    cuda_graph_estimated_bytes: int | None = None
    cuda_graphs_counted: bool | None = None
    free_after_load_bytes: int | None = None
    kv_cache_bytes: int | None = None
    is_cache_given: bool = False
    kv_cache_tokens: int | None = None
    kv_blocks: int | None = None
    swa_tokens: int | None = None
    state_bytes: int | None = None
    max_concurrency: float | None = None
    token_meaning: TokenMeaning | None = None

    @property
    def concurrent_tokens(self) -> int | None:
        """Tokens of whole sequences that fit: max_concurrency x max_model_len, else the line's."""
        if self.max_concurrency is None or self.flags.max_model_len is None:
            return self.kv_cache_tokens
        if self.token_meaning is TokenMeaning.CONCURRENCY:
            return self.kv_cache_tokens
        return int(self.max_concurrency * self.flags.max_model_len)

    @property
    def non_kv_bytes(self) -> int | None:
        """What the budget spent on all but the KV cache, None where one of the two is unknown."""
        if self.budget_bytes is None or self.kv_cache_bytes is None:
            return None
        return self.budget_bytes - self.kv_cache_bytes
