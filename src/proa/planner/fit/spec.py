"""What one engine start is asked with, and what its memory becomes."""

import msgspec

from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec, WeightFormat
from proa.planner.layout import LayoutSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.text import Text


class MeasuredMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Overheads of one GPU that a start-up log told; they stand in for the profile's own.

    None is what the log did not say. `gpu_bytes` is the total that the driver reported.
    """

    gpu_bytes: int | None = None
    weights_bytes: int | None = None
    activation_bytes: int | None = None
    non_torch_bytes: int | None = None
    cuda_graph_bytes: int | None = None


class FitSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One start of an engine; what is None takes that engine version's own default.

    `gpu_memory_utilization` is the share of the GPU that the engine may take (vLLM),
    `mem_fraction_static` that of weights and cache (SGLang); `max_model_len` the longest context.
    `plain` is the format of weights that no quantisation touches. `taken_bytes` is what others
    hold of the GPU, `headroom_bytes` what the operator keeps free beyond the engine's share.
    `draft_tokens` > 0 loads the model's own draft layers (MTP).
    """

    llm: LlmSpec
    gpu: GpuSpec
    layout: LayoutSpec = LayoutSpec()
    engine: str = "vllm"
    engine_version: str | None = None
    gpu_memory_utilization: float | None = None
    mem_fraction_static: float | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    kv_dtype: KvDtype = KvDtype.AUTO
    plain: WeightFormat = WeightFormat.BF16
    enforce_eager: bool = False
    block_tokens: int | None = None
    kv_cache_memory_bytes: int | None = None
    taken_bytes: int = 0
    headroom_bytes: int = 0
    draft_tokens: int = 0
    measured: MeasuredMemory | None = None


class MemoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a GPU's memory: its bytes, or the line it is `inside` of; and who says so."""

    name: str
    bytes: int | None = None
    inside: str | None = None
    source: Text


class FitPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the fullest GPU of one replica after a start.

    `requested_bytes` is the engine's share. `kv_cache_bytes` is what is left of it for the cache,
    negative where the weights alone do not fit. `kv_cache_tokens` is what that engine version
    prints for a whole replica, `plannable_tokens` is max_concurrency x max_model_len: the two
    differ for windows and states, and only the second is a promise. `max_concurrency` counts
    sequences of `max_model_len` tokens. `fragmentation_bytes` are lost to whole blocks and to
    groups of unequal layers. `doubts` are reasons to measure before trusting.
    """

    engine: str
    engine_version: str
    profile: str
    gpu_bytes: int
    requested_bytes: int
    weights_bytes: int
    activation_bytes: int
    non_torch_bytes: int
    cuda_graph_bytes: int
    fragmentation_bytes: int
    headroom_bytes: int
    kv_cache_bytes: int
    kv_bytes_per_token: float
    kv_cache_tokens: int
    plannable_tokens: int
    max_model_len: int
    max_concurrency: float
    fits: bool
    lines: tuple[MemoryLine, ...] = ()
    doubts: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()

    @property
    def uncertain(self) -> bool:
        """Whether there is any doubt."""
        return bool(self.doubts)
