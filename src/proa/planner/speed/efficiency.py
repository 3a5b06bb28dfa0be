"""What engines reach of a data sheet's roof: few numbers, fitted to published measurements.

Fitted to 100 loads of `tests/planner/data/serving.jsonl` (three engines, Hopper and Blackwell,
8B to 1T parameters), with products on Blackwell held to no less than Hopper makes in the same
time. `python -m benchmarks.planner_accuracy speed` prints how near that comes, `speed-folds` how
near with loads, models, GPUs or engines that the fit had not seen.
"""

from typing import NamedTuple

from proa.domain.gpu import GpuSpec
from proa.planner.speed.serving_formula import Serving
from proa.planner.speed.step_formula import Pace


class _EngineRow(NamedTuple):
    """One engine: `lockstep` is set, all else fitted.

    SGLang reads all prompts that wait before it goes on with answers, the others mix both. Its
    `first_s` was measured with requests fetched and tokens sent every 10 steps or more, as public
    load tests run it.
    """

    kernel_s: float
    sequence_s: float
    first_s: float
    first_steps: float
    burst: float
    lockstep: float


class _FamilyRow(NamedTuple):
    """One GPU family: shares of the data sheet's rates."""

    read: float
    math: float
    expert_math: float
    expert_read: float
    attention_math: float


_ENGINES = {
    "vllm": _EngineRow(3.02e-6, 10.9e-6, 0.0342, 1.72, 0.0734, 0.0),
    "sglang": _EngineRow(2.65e-6, 26.5e-6, 0.1628, 1.79, 0.191, 1.0),
    "tensorrt-llm": _EngineRow(3.07e-6, 56.0e-6, 0.0238, 8.24, 0.068, 0.0),
}
_FAMILIES = {
    "hopper": _FamilyRow(
        read=0.757, math=0.75, expert_math=0.111, expert_read=0.751, attention_math=0.7
    ),
    "blackwell": _FamilyRow(
        read=0.757, math=0.35, expert_math=0.0465, expert_read=0.95, attention_math=0.136
    ),
}
_OTHER_FAMILY = _FamilyRow(
    read=0.85, math=0.45, expert_math=0.16, expert_read=0.77, attention_math=0.222
)
"""Not fitted: Hopper's shares, with the products held lower, and reads as the two GPUs of
`catalog.step_times` show them: fewer cores for their memory's rate come nearer to it."""

MEASURED_ENGINES = tuple(_ENGINES)
MEASURED_FAMILIES = tuple(_FAMILIES)


def pace_of(engine: str, gpu: GpuSpec) -> Pace:
    """The pace of an engine on a GPU; an engine that was not measured takes vLLM's."""
    row = _ENGINES.get(engine, _ENGINES["vllm"])
    family = _FAMILIES.get(gpu.family, _OTHER_FAMILY)
    return Pace(
        read=family.read,
        expert_read=family.expert_read,
        cache_read=0.608,
        math=family.math,
        expert_math=family.expert_math,
        attention_math=family.attention_math,
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
        lockstep=row.lockstep,
        blocked=0.344,
        chunk_tokens=8192.0,
    )
