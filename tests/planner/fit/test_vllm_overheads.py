"""Activation peak, non-torch memory and graphs against logged ones (H100, vLLM 0.16 and 0.19)."""

import pytest
from msgspec.structs import replace
from tests.planner import models
from tests.planner.engine_starts import start

from proa.catalog.models import find_model
from proa.domain.llm import LlmSpec
from proa.planner.fit.profiles import nearest
from proa.planner.fit.vllm_overheads import activation_bytes, batch_of, graph_bytes, non_torch_bytes
from proa.planner.fit.vllm_versions import VLLM_VERSIONS, VllmVersion

GIB = 2**30


def version_of(text: str) -> VllmVersion:
    return nearest(VLLM_VERSIONS, text)[1]


def activation(llm: LlmSpec, version: str, *, tp: int = 1, gpu: str = "h100-80gb") -> float:
    spec, rules = start("vllm", gpu, llm, tp=tp), version_of(version)
    return activation_bytes(spec, rules, batch_of(spec, rules)) / GIB


@pytest.mark.parametrize(
    ("llm", "tensor_parallel", "gib"),
    [
        (models.QWEN25_7B, 1, 2.21),
        (models.QWEN25_7B, 4, 2.21),
        (models.LLAMA_70B, 4, 1.97),
        (find_model("google/gemma-2-9b-it"), 1, 3.65),
        (find_model("ibm-granite/granite-3.1-8b-instruct"), 1, 0.85),
        (find_model("deepseek-ai/DeepSeek-V2-Lite-Chat"), 1, 1.93),
        (find_model("mistralai/Mixtral-8x7B-Instruct-v0.1"), 2, 1.21),
        (find_model("meta-llama/Llama-4-Scout-17B-16E-Instruct"), 4, 3.19),
    ],
    ids=lambda value: value.id if isinstance(value, LlmSpec) else "",
)
def test_the_vocabulary_decides(llm: LlmSpec, tensor_parallel: int, gib: float) -> None:
    assert activation(llm, "0.19.0", tp=tensor_parallel) == pytest.approx(gib, abs=0.12)


def test_fewer_sequences_need_less() -> None:
    spec = start("vllm", "h100-80gb", models.QWEN3_8B, max_num_seqs=16)
    rules = version_of("0.19.0")
    few = activation_bytes(spec, rules, batch_of(spec, rules)) / GIB
    assert few < activation(models.QWEN3_8B, "0.19.0") - 1


@pytest.mark.parametrize(
    ("gpu", "tokens", "sequences"),
    [
        ("h100-80gb", 8192, 1024),
        ("a100-80gb", 2048, 256),
        ("l40s-48gb", 2048, 256),
        ("mi300x-192gb", 8192, 1024),
    ],
)
def test_defaults_by_gpu(gpu: str, tokens: int, sequences: int) -> None:
    assert batch_of(start("vllm", gpu), version_of("0.19.0")) == (tokens, sequences)


@pytest.mark.parametrize(
    ("version", "tensor_parallel", "gib"),
    [("0.19.0", 1, 0.25), ("0.19.0", 2, 2.08), ("0.19.0", 4, 2.17), ("0.16.0", 2, 0.55)],
)
def test_non_torch_memory(version: str, tensor_parallel: int, gib: float) -> None:
    spec = start("vllm", "h100-80gb", tp=tensor_parallel)
    assert non_torch_bytes(spec, version_of(version)) / GIB == pytest.approx(gib, abs=0.01)


def test_cards_without_links_have_no_symmetric_buffers() -> None:
    spec = start("vllm", "rtx-5090-32gb", tp=2)
    assert non_torch_bytes(spec, version_of("0.24.0")) < GIB


def test_graphs() -> None:
    spec = start("vllm", "h100-80gb", models.LLAMA_70B, tp=2)
    batch = batch_of(spec, version_of("0.19.0"))
    assert graph_bytes(spec, batch) / GIB == pytest.approx(1.63, abs=0.1)  # vLLM's estimate
    assert graph_bytes(replace(spec, enforce_eager=True), batch) == 0
    few = replace(spec, max_num_seqs=2)
    assert graph_bytes(few, batch_of(few, version_of("0.19.0"))) < 0.3 * GIB
