"""What engines reach of a data sheet's roof: few numbers, fitted to published measurements.

Fitted to 100 loads of `tests/planner/data/serving.jsonl` (three engines, Hopper and Blackwell,
8B to 1T parameters). `python -m benchmarks.planner_accuracy speed` prints how well, with the
models that were left out of the fit as well.
"""

from typing import NamedTuple

from proa.domain.gpu import GpuSpec
from proa.planner.serving_formula import Serving
from proa.planner.step_formula import Pace


class _EngineRow(NamedTuple):
    """One engine: `first_s` of vLLM and TensorRT-LLM is set, not fitted."""

    kernel_s: float
    sequence_s: float
    first_s: float
    first_steps: float
    burst: float


class _FamilyRow(NamedTuple):
    """One GPU family: shares of the data sheet's rates."""

    math: float
    expert_math: float
    expert_read: float


_ENGINES = {
    "vllm": _EngineRow(3.1e-6, 8.6e-6, 0.025, 2.6, 0.076),
    "sglang": _EngineRow(2.78e-6, 26.8e-6, 0.151, 1.0, 0.19),
    "trtllm": _EngineRow(3.49e-6, 58.9e-6, 0.025, 9.7, 0.079),
}
_FAMILIES = {
    "hopper": _FamilyRow(math=0.75, expert_math=0.131, expert_read=0.80),
    "blackwell": _FamilyRow(math=0.156, expert_math=0.0515, expert_read=0.95),
}
_OTHER_FAMILY = _FamilyRow(math=0.5, expert_math=0.13, expert_read=0.80)
"""Not measured: Hopper's shares, with the products held lower."""

MEASURED_ENGINES = tuple(_ENGINES)
MEASURED_FAMILIES = tuple(_FAMILIES)


def pace_of(engine: str, gpu: GpuSpec) -> Pace:
    """The pace of an engine on a GPU; an engine that was not measured takes vLLM's."""
    row = _ENGINES.get(engine, _ENGINES["vllm"])
    family = _FAMILIES.get(gpu.family, _OTHER_FAMILY)
    return Pace(
        read=0.83,
        expert_read=family.expert_read,
        cache_read=0.60,
        math=family.math,
        expert_math=family.expert_math,
        attention_math=0.54,
        kernel_s=row.kernel_s,
        step_s=0.0003,
        sequence_s=row.sequence_s,
    )


def serving_of(engine: str) -> Serving:
    """How an engine treats requests; one that was not measured is taken for vLLM."""
    row = _ENGINES.get(engine, _ENGINES["vllm"])
    return Serving(
        first_s=row.first_s,
        first_steps=row.first_steps,
        burst=row.burst,
        blocked=0.345,
        chunk_tokens=8192.0,
    )
