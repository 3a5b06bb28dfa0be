"""Profiles for tests: small, quick, and changed where a test wants it."""

from typing import Any

import msgspec

from proa.emulator.profile import EngineProfile
from proa.emulator.sequence import SequenceSpec

SMALL = EngineProfile(
    name="small",
    source="made up for tests",
    model="tiny",
    step_base_ms=1.0,
    step_per_sequence_ms=0.1,
    kv_tokens=1024,
    context=256,
    block_tokens=16,
    max_running=8,
    max_batched_tokens=256,
)


def small(**changes: Any) -> EngineProfile:
    return msgspec.structs.replace(SMALL, **changes)


def asked(prompt: int = 10, output: int = 5, **more: Any) -> SequenceSpec:
    return SequenceSpec(prompt_tokens=prompt, output_tokens=output, **more)


def hashes(*names: str) -> tuple[bytes, ...]:
    """Block hashes by name, chained as those of real prompts are."""
    return tuple("/".join(names[: end + 1]).encode() for end in range(len(names)))
