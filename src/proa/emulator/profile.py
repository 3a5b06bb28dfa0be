"""What an emulated engine is like: one flat table, whose keys are also the flags."""

from enum import StrEnum
from typing import Annotated

import msgspec

from proa.domain.fleet import EngineKind
from proa.domain.timing import StepTime

Count = Annotated[int, msgspec.Meta(ge=1)]
Zero = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$")]


class Batching(StrEnum):
    """`STATIC`: a batch starts together, and its places stay taken until its longest ends."""

    STATIC = "static"
    CONTINUOUS = "continuous"


class KvLayout(StrEnum):
    """`CONTIGUOUS` reserves the whole context at admission, `PAGED` takes blocks by use."""

    CONTIGUOUS = "contiguous"
    PAGED = "paged"


class EngineProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One engine: its speed, its room and its habits.

    `name` goes into every response head. A step with n sequences takes
    step_base_ms + step_per_sequence_ms x n + step_per_kv_token_us x KV tokens, plus
    prompt tokens / prefill_tokens_per_s (infinite: prompts cost no time).
    `kv_tokens` is the KV cache's size, `context` the longest prompt with its answer.
    `max_queued` None is a queue without limit. `max_batched_tokens` is what one step
    computes at most, so longer prompts are cut into chunks. `output_tokens` come where
    a request sets no limit. `adapters` are LoRA adapters known from the start,
    `lora_slots` those that fit on the GPU (0: no LoRA).
    """

    name: Name
    source: str
    kind: EngineKind = EngineKind.VLLM
    model: Name = "emulated"
    step_base_ms: Positive
    step_per_sequence_ms: NotNegative = 0.0
    step_per_kv_token_us: NotNegative = 0.0
    prefill_tokens_per_s: Positive = float("inf")
    kv_tokens: Count = 131_072
    context: Count = 8_192
    block_tokens: Count = 16
    max_running: Count = 256
    max_queued: Zero | None = None
    max_batched_tokens: Count = 8_192
    batching: Batching = Batching.CONTINUOUS
    kv: KvLayout = KvLayout.PAGED
    prefix_cache: bool = True
    output_tokens: Count = 128
    lora_slots: Zero = 0
    lora_load_s: NotNegative = 0.5
    adapters: tuple[Name, ...] = ()
    seed: Zero = 0

    @property
    def step(self) -> StepTime:
        return StepTime(
            base_s=self.step_base_ms / 1e3,
            per_sequence_s=self.step_per_sequence_ms / 1e3,
            per_kv_token_s=self.step_per_kv_token_us / 1e6,
        )

    @property
    def kv_blocks(self) -> int:
        return self.kv_tokens // self.block_tokens

    @property
    def counts_running_in_queue(self) -> bool:
        """vLLM and TGI limit running and waiting together, the others what waits."""
        return self.kind in (EngineKind.VLLM, EngineKind.TGI)


EMULATED_KINDS = (EngineKind.VLLM, EngineKind.SGLANG, EngineKind.TGI, EngineKind.LLAMACPP)


def misfit(profile: EngineProfile) -> tuple[str, str] | None:
    """The first key whose value does not go with the others, and what would be accepted."""
    if profile.kind not in EMULATED_KINDS:
        return "kind", " | ".join(kind.value for kind in EMULATED_KINDS)
    if profile.kv_blocks * profile.block_tokens < profile.context:
        return "context", "at most kv_tokens, in whole blocks: one request must fit"
    if profile.max_batched_tokens < profile.max_running:
        return "max_batched_tokens", "at least max_running: each sequence needs one per step"
    if profile.adapters and not profile.lora_slots:
        return "adapters", "none without lora_slots"
    if profile.step_base_ms == float("inf") or profile.step_per_sequence_ms == float("inf"):
        return "step_base_ms", "a finite number"
    return None
