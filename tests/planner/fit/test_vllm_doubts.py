"""When a plan says that it may be wrong."""

import pytest
from msgspec.structs import replace
from tests.planner.engine_starts import start

from proa.catalog.models import find_model
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec


def pinned(model: str, gpu: str, version: str | None = "0.19.0", *, tp: int = 1) -> FitSpec:
    return replace(start("vllm", gpu, find_model(model), tp=tp), engine_version=version)


@pytest.mark.parametrize(
    "spec",
    [
        pinned("Qwen/Qwen3-8B", "h100-80gb"),
        pinned("deepseek-ai/DeepSeek-R1", "h200-141gb", tp=8),
        pinned("meta-llama/Llama-3.3-70B-Instruct", "mi300x-192gb"),
    ],
)
def test_what_logs_cover_is_sure(spec: FitSpec) -> None:
    assert fit(spec).doubts == ()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (pinned("Qwen/Qwen3-8B", "h100-80gb", None), "no vLLM version was given"),
        (pinned("Qwen/Qwen3-8B", "h100-80gb", "0.9.2"), "older than the pinned versions"),
        (pinned("Qwen/Qwen3-8B", "h100-80gb", "0.30.0"), "no start-up log of vLLM 0.30.0"),
        (pinned("Qwen/Qwen3-8B", "gaudi-3-128gb"), "no start-up log of vLLM on"),
        (
            pinned("meta-llama/Llama-4-Maverick-17B-128E-Instruct", "mi300x-192gb", tp=8),
            "experts in bf16 on ROCm",
        ),
        (pinned("openai/gpt-oss-120b", "h100-80gb"), "4-bit floating point"),
        (pinned("nvidia/Llama-3.1-70B-Instruct-FP8", "h200-141gb"), "name the type"),
        (pinned("Qwen/Qwen3-8B", "rtx-5090-32gb"), "no start-up log of vLLM on"),
        (pinned("deepseek-ai/DeepSeek-V4-Flash", "h200-141gb", tp=8), "DeepSeek-V4"),
        (pinned("deepseek-ai/DeepSeek-V3.2", "h200-141gb", "0.24.0", tp=8), "sparse MLA"),
        (pinned("Qwen/Qwen3.5-27B", "h100-80gb", "0.24.0"), "linear layers"),
        (replace(pinned("Qwen/Qwen3.5-27B", "h100-80gb"), draft_tokens=2), "speculation"),
        (
            replace(pinned("Qwen/Qwen3-32B", "h100-80gb"), layout=LayoutSpec(pipeline_parallel=2)),
            "pipeline or data",
        ),
    ],
)
def test_what_rests_on_little_says_so(spec: FitSpec, said: str) -> None:
    plan = fit(spec)
    assert plan.uncertain
    assert any(said in doubt.en for doubt in plan.doubts)


def test_a_version_without_a_profile_is_named() -> None:
    plan = fit(pinned("Qwen/Qwen3-8B", "h100-80gb", "0.9.2"))
    told = [warning.en for warning in plan.warnings]
    assert "vLLM 0.9.2 has no profile: 0.10.0 stands in" in told
