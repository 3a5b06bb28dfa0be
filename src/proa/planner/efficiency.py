"""What engines reach of a data sheet's roof: few numbers, fitted to published measurements."""

from proa.domain.gpu import GpuSpec
from proa.planner.serving_formula import Serving
from proa.planner.step_formula import Pace

_HOPPER = {"read": 0.9, "expert_read": 0.6, "math": 0.3}
_BLACKWELL = {"read": 0.66, "expert_read": 0.9, "math": 0.12}
_KERNEL_S = {"vllm": 1.34e-6, "sglang": 1.21e-6, "trtllm": 1.59e-6}
_FIRST_S = {"vllm": 0.038, "sglang": 0.230, "trtllm": 0.139}


def pace_of(engine: str, gpu: GpuSpec) -> Pace:
    """The pace of an engine on a GPU; an engine that was not measured takes vLLM's."""
    family = _BLACKWELL if gpu.family == "blackwell" else _HOPPER
    return Pace(
        cache_read=0.95,
        attention_math=0.6,
        kernel_s=_KERNEL_S.get(engine, _KERNEL_S["vllm"]),
        step_s=0.0001,
        sequence_s=27e-6,
        **family,
    )


def serving_of(engine: str) -> Serving:
    """How an engine treats requests; one that was not measured is taken for vLLM."""
    first = _FIRST_S.get(engine, _FIRST_S["vllm"])
    return Serving(first_s=first, burst=0.18, blocked=0.4, chunk_tokens=8192.0)
