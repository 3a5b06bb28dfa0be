"""Weights as vLLM's "Model loading took ... GiB" has them, tensor by tensor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planner import models
from tests.planner.engine_starts import start

from proa.catalog.models import find_model
from proa.planner.fit.profiles import nearest
from proa.planner.fit.vllm_versions import VLLM_VERSIONS
from proa.planner.fit.vllm_weights import allocated_bytes, loaded_bytes, rotary_bytes
from proa.planner.layout import pipeline_stages

GIB, MIB = 2**30, 2**20

# "Model loading took" of vLLM 0.18/0.19 on H100, H200 and B200; sources in data/boots.jsonl
LOGGED = [
    ("Qwen/Qwen2.5-7B-Instruct", 4, 3.55),
    ("deepseek-ai/DeepSeek-V2-Lite-Chat", 1, 29.43),
    ("google/gemma-2-9b-it", 1, 17.22),
    ("ibm-granite/granite-3.1-8b-instruct", 1, 15.25),
    ("meta-llama/Llama-3.3-70B-Instruct", 4, 32.89),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 4, 53.12),
    ("microsoft/phi-2", 1, 5.19),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", 2, 43.51),
    ("moonshotai/Kimi-Dev-72B", 4, 34.01),
    ("google/gemma-4-31B-it", 1, 58.90),
]


@pytest.mark.parametrize(("model", "tensor_parallel", "gib"), LOGGED)
def test_weights_are_the_logged_ones(model: str, tensor_parallel: int, gib: float) -> None:
    spec = start("vllm", "h100-80gb", find_model(model), tp=tensor_parallel)
    _, version, _ = nearest(VLLM_VERSIONS, "0.19.0")
    (stage,) = pipeline_stages(spec.llm, spec.layout)
    assert loaded_bytes(spec, stage, version) / GIB == pytest.approx(gib, abs=0.05)


def test_the_allocator_keeps_a_small_rest() -> None:
    assert allocated_bytes(31.5 * MIB) == 32 * MIB  # half a MiB stays with the tensor
    assert allocated_bytes(24.5 * MIB) == 24.5 * MIB  # 1.5 MiB is given to another
    assert allocated_bytes(3 * MIB + 1) == 3 * MIB + 512


@given(st.integers(1, 2**34))
def test_no_tensor_takes_less_than_it_is(size: int) -> None:
    assert size <= allocated_bytes(size) < size + MIB + 512


def test_rotary_tables_are_as_long_as_the_model_can() -> None:
    scout = find_model("meta-llama/Llama-4-Scout-17B-16E-Instruct")
    assert rotary_bytes(scout) == 10_485_760 * 128 * 2
    assert rotary_bytes(models.QWEN3_8B) == 0  # no context is known


def test_latent_attention_keeps_its_up_projections_twice() -> None:
    spec = start("vllm", "h200-141gb", models.DEEPSEEK_R1, tp=8)
    _, version, _ = nearest(VLLM_VERSIONS, "0.11.0")
    (stage,) = pipeline_stages(spec.llm, spec.layout)
    # vLLM 0.11.0 logs 79.58 GiB, of which 0.04 are rotary tables
    assert loaded_bytes(spec, stage, version) / GIB == pytest.approx(79.54, abs=0.02)
