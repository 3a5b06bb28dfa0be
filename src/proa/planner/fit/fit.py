"""What one engine start would log: weights, overheads, cache, tokens, concurrency."""

from proa.errors import FieldError
from proa.planner.fit.llamacpp import LlamaCppProfile
from proa.planner.fit.profiles import EngineProfile
from proa.planner.fit.sglang import SglangProfile
from proa.planner.fit.spec import FitPlan, FitSpec
from proa.planner.fit.tensorrt import TensorRtProfile
from proa.planner.fit.tgi import TgiProfile
from proa.planner.fit.vllm import VllmProfile

ENGINES: dict[str, EngineProfile] = {
    profile.name: profile
    for profile in (
        VllmProfile(),
        SglangProfile(),
        LlamaCppProfile(),
        TgiProfile(),
        TensorRtProfile(),
    )
}
"""Profiles by the engine's name."""


def fit(spec: FitSpec) -> FitPlan:
    """The memory of one start, by the profile of `spec.engine`.

    Raises:
        FieldError: no such engine, or a flag that it would refuse.
    """
    profile = ENGINES.get(spec.engine)
    if profile is None:
        raise FieldError("engine", spec.engine, ", ".join(sorted(ENGINES)))
    return profile.fit(spec)
