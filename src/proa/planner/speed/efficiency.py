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

    SGLang reads all prompts that wait before it goes on with answers, the others mix both.
    """

    kernel_s: float
    sequence_s: float
    launch_s: float
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
    "vllm": _EngineRow(2.98e-6, 11.3e-6, 19.5e-6, 1.04, 0.0819, 0.0),
    "sglang": _EngineRow(2.67e-6, 26.5e-6, 33.9e-6, 4.59, 0.179, 1.0),
    "tensorrt-llm": _EngineRow(3.03e-6, 60.0e-6, 33.5e-6, 5.29, 0.0732, 0.0),
}
_FAMILIES = {
    "hopper": _FamilyRow(
        read=0.757, math=0.75, expert_math=0.125, expert_read=0.752, attention_math=0.7
    ),
    "blackwell": _FamilyRow(
        read=0.757, math=0.35, expert_math=0.0499, expert_read=0.95, attention_math=0.156
    ),
}
_OTHER_FAMILY = _FamilyRow(
    read=0.85, math=0.45, expert_math=0.16, expert_read=0.77, attention_math=0.222
)
"""Not fitted: Hopper's shares, with the products held lower, and reads as the two GPUs of
`catalog.step_times` show them: fewer cores for their memory's rate come nearer to it."""

FIRST_S = 0.02
"""HTTP, tokens and scheduling of a request: set, since kernels and steps tell the engines apart."""

MEASURED_ENGINES = tuple(_ENGINES)
MEASURED_FAMILIES = tuple(_FAMILIES)


def pace_of(engine: str, gpu: GpuSpec) -> Pace:
    """The pace of an engine on a GPU; an engine that was not measured takes vLLM's."""
    row = _ENGINES.get(engine, _ENGINES["vllm"])
    family = _FAMILIES.get(gpu.family, _OTHER_FAMILY)
    return Pace(
        read=family.read,
        expert_read=family.expert_read,
        cache_read=0.598,
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
        first_s=FIRST_S,
        launch_s=row.launch_s,
        first_steps=row.first_steps,
        burst=row.burst,
        lockstep=row.lockstep,
        blocked=0.353,
        chunk_tokens=8192.0,
    )
