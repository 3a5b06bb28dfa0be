"""Weights in bytes, against engines' logs and formats' definitions."""

import pytest
from tests.planner import models

from proa.domain.llm import Quantization, WeightFormat
from proa.errors import InputError
from proa.planner.layout import LayoutSpec
from proa.planner.memory.weights import (
    bits_per_weight,
    bytes_of_parameters,
    weights_bytes,
    with_precision,
)

GIB = 2**30


def test_a_sharded_model_weighs_what_vllm_logs() -> None:
    # vLLM 0.18.0, "Model loading took 32.89 GiB", TP4; rotary tables are 0.03 of it
    weights = weights_bytes(models.LLAMA_70B, LayoutSpec(tensor_parallel=4))
    assert weights / GIB == pytest.approx(32.89, abs=0.04)


def test_quantised_layers_and_the_rest_apart() -> None:
    # RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic, vLLM 0.11.2: 68.36 GiB (vme, MI300X)
    weights = weights_bytes(with_precision(models.LLAMA_70B, "fp8"))
    assert weights / GIB == pytest.approx(67.7, abs=0.1)
    assert weights > models.LLAMA_70B.vocab * models.LLAMA_70B.hidden * 4 + 68_451_041_280


@pytest.mark.parametrize(
    ("quantization", "bits"),
    [
        (Quantization(method="awq", format=WeightFormat.INT4, group_size=128), 4 + 20 / 128),
        (Quantization(method="gptq", format=WeightFormat.INT4, group_size=64), 4 + 20 / 64),
        (
            Quantization(method="compressed-tensors", format=WeightFormat.INT4, group_size=32),
            4 + 16 / 32,
        ),
        (Quantization(method="fp8", format=WeightFormat.FP8, block=128), 8 + 32 / 128**2),
        (Quantization(method="modelopt", format=WeightFormat.NVFP4, group_size=16), 4.5),
        (Quantization(method="mxfp4", format=WeightFormat.MXFP4, group_size=32), 4.25),
        (Quantization(method="w8a8", format=WeightFormat.INT8), 8 + 16 / 4096),
    ],
    ids=lambda value: value.method if isinstance(value, Quantization) else "",
)
def test_scales_and_zero_points_count(quantization: Quantization, bits: float) -> None:
    assert bits_per_weight(quantization, 4096) == bits


def test_a_bare_count_has_no_scales() -> None:
    assert [bytes_of_parameters(30 * 10**9, p) / 1e9 for p in ("bf16", "fp8", "int4")] == [
        60,
        30,
        15,
    ]


def test_stages_are_uneven() -> None:
    layout = LayoutSpec(pipeline_parallel=4)
    fullest = weights_bytes(models.DEEPSEEK_R1, layout)
    assert fullest > weights_bytes(models.DEEPSEEK_R1) / 4 * 1.02


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(InputError, match="precision = 'int3': accepted is fp32, bf16"):
        with_precision(models.QWEN3_8B, "int3")
    with pytest.raises(InputError, match="parameters = 0"):
        bytes_of_parameters(0, "bf16")
