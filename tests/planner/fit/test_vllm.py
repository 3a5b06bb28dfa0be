"""Starts of vLLM as logs have them, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.planner import models
from tests.planner.engine_starts import start

from proa.errors import FieldError
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitSpec, MeasuredMemory

GIB = 2**30

# Qwen2.5-7B-Instruct on an H100, vLLM 0.19.0: 58.53 GiB, 1,095,968 tokens, 66.89x of 16,384
SPEC = replace(
    start("vllm", "h100-80gb", models.QWEN25_7B, max_model_len=16_384),
    engine_version="0.19.0",
    gpu_memory_utilization=0.95,
)


def test_a_start_as_it_was_logged() -> None:
    plan = fit(SPEC)
    assert plan.kv_cache_bytes / GIB == pytest.approx(58.53, abs=0.02)
    assert plan.kv_cache_tokens == pytest.approx(1_095_968, rel=0.001)
    assert plan.max_concurrency == pytest.approx(66.89, abs=0.05)
    assert plan.plannable_tokens == int(plan.max_concurrency * 16_384)
    assert plan.fits
    assert not plan.uncertain
    assert plan.profile == "0.19.0"


@pytest.mark.parametrize("version", ["0.16.0", "0.19.0", "0.21.0"])
def test_every_byte_is_on_a_line_or_inside_one(version: str) -> None:
    plan = fit(replace(SPEC, engine_version=version))
    lines = {line.name: line for line in plan.lines}
    apart = sum(line.bytes or 0 for line in plan.lines if line.inside is None)
    assert apart == plan.gpu_bytes
    assert {line.inside for line in plan.lines} - {None} <= set(lines)
    assert all(line.source for line in plan.lines)
    assert (lines["attention_workspace"].bytes, lines["attention_workspace"].inside) == (
        None,
        "activation",
    )


def test_what_was_measured_stands_in_for_the_profile() -> None:
    measured = MeasuredMemory(
        gpu_bytes=80 * GIB,
        weights_bytes=15 * GIB,
        activation_bytes=2 * GIB,
        non_torch_bytes=GIB,
        cuda_graph_bytes=GIB,
    )
    plan = fit(replace(SPEC, measured=measured, gpu_memory_utilization=0.5))
    assert plan.kv_cache_bytes == (40 - 15 - 2 - 1) * GIB
    assert plan.kv_cache_tokens == plan.kv_cache_bytes // (57_344 * 16) * 16


def test_bytes_that_were_given_are_the_caches() -> None:
    plan = fit(replace(SPEC, kv_cache_memory_bytes=4 * GIB))
    assert plan.kv_cache_bytes == 4 * GIB
    assert not fit(replace(SPEC, kv_cache_memory_bytes=70 * GIB)).fits


def test_what_others_hold_is_not_free() -> None:
    assert not fit(replace(SPEC, taken_bytes=10 * GIB)).fits
    assert fit(replace(SPEC, taken_bytes=10 * GIB, gpu_memory_utilization=0.8)).fits


def test_headroom_makes_the_share_smaller() -> None:
    plan, less = fit(SPEC), fit(replace(SPEC, headroom_bytes=GIB))
    assert less.kv_cache_bytes == plan.kv_cache_bytes - GIB
    assert less.headroom_bytes == plan.headroom_bytes + GIB


def test_too_large_a_model_does_not_fit() -> None:
    plan = fit(start("vllm", "h100-80gb", models.LLAMA_70B, max_model_len=8192))
    assert plan.kv_cache_bytes < 0
    assert not plan.fits
    assert plan.kv_cache_tokens == 0


def test_a_start_that_failed_is_told_to_fail() -> None:
    # gpt-oss-120b on one H100, vLLM 0.10.1: "Available KV cache memory: -2.14 GiB"
    from proa.catalog.models import find_model

    llm = find_model("openai/gpt-oss-120b")
    plan = fit(replace(start("vllm", "h100-80gb", llm), engine_version="0.10.1"))
    assert plan.kv_cache_bytes / GIB == pytest.approx(-2.14, abs=0.3)
    assert not plan.fits
    assert plan.uncertain


@given(st.floats(0.2, 1.0), st.floats(0.2, 1.0))
def test_a_larger_share_never_holds_less(first: float, second: float) -> None:
    low, high = sorted((first, second))
    plans = [fit(replace(SPEC, gpu_memory_utilization=share)) for share in (low, high)]
    assert plans[0].kv_cache_tokens <= plans[1].kv_cache_tokens
    assert plans[0].fits <= plans[1].fits


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (replace(SPEC, gpu_memory_utilization=1.2), "gpu_memory_utilization = 1.2: accepted is"),
        (replace(SPEC, max_model_len=0), "max_model_len = 0: accepted is 1 or more"),
        (replace(SPEC, max_model_len=None), "max_model_len = None: accepted is a number, since"),
        (replace(SPEC, engine="vlm"), "engine = 'vlm': accepted is llamacpp, sglang"),
    ],
)
def test_what_is_refused(spec: FitSpec, said: str) -> None:
    with pytest.raises(FieldError, match=said):
        fit(spec)
