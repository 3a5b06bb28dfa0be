"""How long an engine takes: the small model that routing, planner and emulator share."""

from enum import StrEnum

import msgspec


class StepTime(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that one decode step takes; each running sequence gains one token per step.

    step = base_s + per_sequence_s x sequences + per_kv_token_s x KV tokens

    Not modelled:
        the knee where a GPU turns from memory-bound to compute-bound, speculative decoding.
    """

    base_s: float
    per_sequence_s: float
    per_kv_token_s: float = 0.0

    def step_s(self, sequences: float, kv_tokens: float = 0.0) -> float:
        """One step with `sequences` running that hold `kv_tokens` together."""
        return self.base_s + self.per_sequence_s * sequences + self.per_kv_token_s * kv_tokens


class TimingSource(StrEnum):
    """Where a timing comes from; `ASSUMED` says nothing about the engine."""

    ASSUMED = "assumed"
    CATALOGUE = "catalogue"
    LEARNED = "learned"


class EngineTiming(msgspec.Struct, frozen=True, kw_only=True):
    """An engine's speed; `prefill_tokens_per_s` is None while nothing tells it.

    `output_tokens` is the mean of its answers, `bytes_per_token` that of request bodies
    per token of their prompts, None when unknown. `kv_tokens_per_sequence` is what a running
    sequence held in the mean, as far as that is known. `samples` counts what it was learned
    from, the last of it `age_s` ago; `prior` is what was said of the engine before.
    """

    step: StepTime
    prefill_tokens_per_s: float | None = None
    output_tokens: float | None = None
    bytes_per_token: float | None = None
    kv_tokens_per_sequence: float = 0.0
    source: TimingSource = TimingSource.ASSUMED
    samples: int = 0
    age_s: float = 0.0
    prior: StepTime | None = None
