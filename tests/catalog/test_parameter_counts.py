"""The architecture of a row gives the number of weights that its maker published."""

import pytest

from proa.catalog.models import find_model
from proa.planner.memory.tensors import parameter_count

HUB = "safetensors totals of the hub, as copied in github.com/debaditc/kvfit build_registry.py"
API = "totals of the hub's API in public repositories (a table of mixture-of-experts models)"
FILE = "bytes of the BF16 GGUF file on the hub, divided by two"
CARD = "model card or paper: rounded to the digits given"

PUBLISHED = {
    "meta-llama/Llama-2-7b-chat-hf": (6_738_417_664, HUB),
    "meta-llama/Llama-2-13b-chat-hf": (13_015_866_880, HUB),
    "meta-llama/Meta-Llama-3-70B-Instruct": (70_553_706_496, HUB),
    "meta-llama/Llama-3.1-8B-Instruct": (8_030_261_248, HUB),
    "meta-llama/Llama-3.2-3B-Instruct": (3_212_749_824, HUB),
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": (108_641_793_536, HUB),
    "mistralai/Mistral-7B-Instruct-v0.3": (7_248_023_552, HUB),
    "mistralai/Mistral-Nemo-Instruct-2407": (12_247_782_400, HUB),
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": (24_011_361_280, HUB),
    "mistralai/Mixtral-8x7B-v0.1": (46_702_792_704, API),
    "mistralai/Mixtral-8x22B-v0.1": (140_620_634_112, API),
    "Qwen/Qwen2.5-7B-Instruct": (7_615_616_512, HUB),
    "Qwen/Qwen2.5-72B-Instruct": (72_706_203_648, HUB),
    "Qwen/Qwen3-8B": (8_190_735_360, HUB),
    "Qwen/Qwen3-14B": (14_768_307_200, API),
    "Qwen/Qwen3-32B": (32_762_123_264, HUB),
    "Qwen/Qwen3-30B-A3B": (30_532_122_624, HUB),
    "Qwen/Qwen3-235B-A22B": (235_093_634_560, HUB),
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": (480_154_875_392, API),
    "Qwen/Qwen3-Coder-Next": (79_674_391_296, API),
    "google/gemma-2-9b-it": (9_241_705_984, HUB),
    "google/gemma-2-27b-it": (27_227_128_320, HUB),
    "google/gemma-3-1b-it": (999_885_952, API),
    "google/gemma-3-12b-it": (12_187_325_040, HUB),
    "google/gemma-3-27b-it": (27_432_406_640, HUB),
    "google/gemma-4-E2B-it": (5_123_178_051, API),
    "microsoft/Phi-3-mini-4k-instruct": (3_821_079_552, HUB),
    "microsoft/phi-4": (14_659_507_200, HUB),
    "microsoft/Phi-4-mini-instruct": (3_836_021_760, HUB),
    "deepseek-ai/DeepSeek-V2-Lite": (15_706_484_224, API),
    "deepseek-ai/DeepSeek-V3": (671_026_419_200, API),
    "moonshotai/Kimi-K2-Instruct": (1_026_408_235_864, HUB),
    "moonshotai/Moonlight-16B-A3B-Instruct": (15_960_111_936, API),
    "openai/gpt-oss-20b": (20_914_757_184, HUB),
    "openai/gpt-oss-120b": (116_829_156_672, HUB),
    "zai-org/GLM-4.5-Air": (106_852_251_264, API),
    "zai-org/GLM-4.7-Flash": (59_908_837_696 / 2, FILE),
    "MiniMaxAI/MiniMax-M2.5": (228_703_644_928, API),
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2": (8_888_227_328, HUB),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": (31_577_937_344, API),
    "ibm-granite/granite-4.0-h-small": (32_207_337_984, HUB),
    "ibm-granite/granite-3.1-8b-instruct": (8_170_864_640, API),
    "LGAI-EXAONE/EXAONE-3.5-2.4B-Instruct": (2.14e9 + 102_400 * 2560, CARD),
    "LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct": (6.98e9 + 2 * 102_400 * 4096, CARD),
    "LGAI-EXAONE/EXAONE-4.0-32B": (30.95e9 + 2 * 102_400 * 5120, CARD),
    "LGAI-EXAONE/EXAONE-4.0-1.2B": (1.07e9 + 102_400 * 2048, CARD),
    "LGAI-EXAONE/K-EXAONE-236B-A23B": (236e9, CARD),
    "upstage/Solar-Open-100B": (102.6e9, CARD),
    "skt/A.X-3.1-Light": (7.26e9, CARD),
    "skt/A.X-K1": (519e9, CARD),
    "deepseek-ai/DeepSeek-V4-Flash": (284e9, CARD),
}
"""Numbers without draft layers, and where they were read."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_derived_counts_are_within_one_percent(name: str) -> None:
    published, _ = PUBLISHED[name]
    assert parameter_count(find_model(name)) == pytest.approx(published, rel=0.01)


def test_published_counts_of_rows_hold_draft_layers_and_no_more() -> None:
    for name in PUBLISHED:
        llm = find_model(name)
        if llm.parameters is not None:
            assert llm.parameters == pytest.approx(parameter_count(llm), rel=0.04), name
