"""Models are found by the names that people write, and every row tells a whole architecture."""

import pytest

from proa.catalog.models import find_model, known_model, model_ids, model_rows
from proa.domain.llm import DenseFeed, WeightFormat
from proa.errors import InputError

KOREAN = ("LGAI-EXAONE/", "upstage/", "skt/", "kakaocorp/")
MEASURED = """
    deepseek-ai/DeepSeek-R1-0528 nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8 deepseek-ai/DeepSeek-V3.2
    meta-llama/Llama-3.3-70B-Instruct Qwen/Qwen2.5-7B-Instruct
    RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic RedHatAI/Qwen3-235B-A22B-FP8-dynamic
    nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8 RedHatAI/Llama-4-Maverick-17B-128E-Instruct-FP8
    meta-llama/Llama-4-Maverick-17B-128E-Instruct google/gemma-4-31B-it openai/gpt-oss-120b
    moonshotai/Kimi-Dev-72B mistralai/Ministral-3-14B-Reasoning-2512 moonshotai/Kimi-K2.5
    RedHatAI/Qwen3.5-122B-A10B-FP8-dynamic sarvamai/sarvam-105b Qwen/Qwen3-VL-30B-A3B-Instruct
    Qwen/Qwen3-235B-A22B-FP8 cyankiwi/gemma-4-31B-it-AWQ-4bit deepseek-ai/DeepSeek-V4-Flash-0731
    moonshotai/Kimi-K2-Thinking deepseek-ai/DeepSeek-V2-Lite-Chat google/gemma-2-9b-it
    RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic RedHatAI/Qwen2.5-7B-Instruct-fp8-dynamic
    ibm-granite/granite-3.1-2b-instruct ibm-granite/granite-3.1-8b-instruct
    ibm-granite/granite-3.3-8b-instruct ibm-granite/granite-vision-3.3-2b
    meta-llama/Llama-4-Scout-17B-16E-Instruct microsoft/phi-2
    mistralai/Mistral-Small-3.1-24B-Instruct-2503 mistralai/Mixtral-8x7B-Instruct-v0.1
    moonshotai/Kimi-VL-A3B-Instruct Qwen/Qwen2.5-72B-Instruct openai/gpt-oss-20b Qwen/Qwen3-32B
    redhatai/Llama-3.3-70B-Instruct-quantized.w8a8 meta-llama/Meta-Llama-3-8B
    RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16 Qwen/Qwen3-235B-A22B-Instruct-2507
    RedHatAI/Mistral-Small-3.1-24B-Instruct-2503-quantized.w8a8 Qwen/QwQ-32B Qwen/Qwen3-8B
    RedHatAI/Qwen2.5-7B-Instruct-quantized.w8a8 deepseek-ai/DeepSeek-R1-Distill-Qwen-14B
    meta-llama/Meta-Llama-3.1-405B-Instruct-FP8 Qwen/Qwen3-30B-A3B-Instruct-2507-FP8
    LGAI-EXAONE/EXAONE-4.0-32B-FP8 Qwen/Qwen3-Next-80B-A3B-Instruct Qwen/Qwen2.5-7B-Instruct-AWQ
    Qwen/Qwen3-0.6B RedHatAI/gemma-4-31B-it-FP8-Dynamic google/gemma-4-E4B-it
    Qwen/Qwen3.8-27B-FP8 Qwen/Qwen3.6-27B Qwen/Qwen3.6-35B-A3B Qwen/Qwen3-30B-A3B
    deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-R1 MiniMaxAI/MiniMax-M2.5 zai-org/GLM-5
    meta-llama/Llama-3.1-70B Qwen/Qwen3.5-397B-A17B nvidia/Qwen3-32B-NVFP4
    meta-llama/Llama-3.1-8B-Instruct nvidia/Llama-3.1-8B-Instruct-FP8 nvidia/DeepSeek-V3.1-NVFP4
    nvidia/DeepSeek-R1-FP4 zai-org/GLM-4.5-FP8 zai-org/GLM-4.5V-FP8 stepfun-ai/Step-3.5-Flash
    tencent/Hy3-preview moonshotai/Kimi-K2-Instruct
""".split()  # noqa: SIM905
"""Models of which public start logs or speeds are known."""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Qwen/Qwen3-14B", "Qwen/Qwen3-14B"),
        ("qwen3-14b", "Qwen/Qwen3-14B"),
        (" QWEN/qwen3-14B ", "Qwen/Qwen3-14B"),
        ("llama-3.1-8b-instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("DeepSeek-R1", "deepseek-ai/DeepSeek-R1"),
    ],
)
def test_names_that_people_write(name: str, found: str) -> None:
    assert find_model(name).id == found


@pytest.mark.parametrize(
    ("name", "near"),
    [("Qwen3-15B", "Qwen/Qwen3-14B"), ("lama-3.3-70b", "meta-llama/Llama-3.3-70B")],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(InputError, match="not in the catalogue; nearest: ") as refused:
        find_model(name)
    assert near in str(refused.value)
    assert repr(name) in str(refused.value)
    assert known_model(name) is None


@pytest.mark.parametrize("name", ["", "  ", "qwen3", "other/qwen3-8b"])
def test_half_a_name_is_no_name(name: str) -> None:
    assert known_model(name) is None
    with pytest.raises(InputError, match="nearest: "):
        find_model(name)


def test_every_row_tells_a_known_architecture_and_its_source() -> None:
    for row in model_rows().values():
        llm = find_model(row.id)
        assert llm.source == row.source
        assert len(row.source) > 15, row.id
        assert llm.notes == (), row.id
        assert llm.architecture, row.id
        assert llm.max_context > 0, row.id


@pytest.mark.parametrize("method", ["AWQ", "GPTQ-Int4"])
def test_quantised_qwen_72b_has_the_padded_feed_forward(method: str) -> None:
    """QwenLM/Qwen3 issue 578: padded with zeros until 8 GPUs can share groups of 128."""
    (layers,) = find_model(f"Qwen/Qwen2.5-72B-Instruct-{method}").layers
    (plain,) = find_model("Qwen/Qwen2.5-72B-Instruct").layers
    assert isinstance(layers.feed, DenseFeed)
    assert isinstance(plain.feed, DenseFeed)
    assert (layers.feed.intermediate, plain.feed.intermediate) == (29_696, 29_568)
    assert layers.feed.intermediate % (128 * 8) == 0
    assert layers.attention == plain.attention


def test_fp8_of_modelopt_has_no_groups() -> None:
    for row in model_rows().values():
        told = find_model(row.id).quantization
        if told is not None and told.format is WeightFormat.FP8 and told.method == "modelopt":
            assert told.group_size is None, row.id


def test_there_are_many_of_them() -> None:
    ids = model_ids()
    assert len(ids) == len({each.casefold() for each in ids}) >= 250
    assert sum(each.startswith(KOREAN) for each in ids) >= 20


@pytest.mark.parametrize("name", MEASURED)
def test_measured_models_are_rows(name: str) -> None:
    assert find_model(name).layer_count > 0


def test_a_row_like_another_has_its_architecture_and_its_own_weights() -> None:
    whole, quantised = find_model("Qwen/Qwen3-14B"), find_model("Qwen/Qwen3-14B-AWQ")
    assert quantised.layers == whole.layers
    assert quantised.parameters == whole.parameters
    assert whole.quantization is None
    assert quantised.quantization is not None
    assert quantised.quantization.format is WeightFormat.INT4
    assert quantised.quantization.group_size == 128


def test_a_row_like_a_row_like_another_takes_over_the_count() -> None:
    first = find_model("meta-llama/Meta-Llama-3.1-8B")
    assert find_model("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4").parameters == (
        first.parameters
    )
