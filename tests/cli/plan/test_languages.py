"""A page in Korean has no English sentence in it, whatever was asked of `proa plan` or `fit`."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.plan.worked import MODEL, USERS, flags

from proa.cli.main import main

SENTENCE = re.compile(r"[A-Za-z][a-z'-]*(?:[ ,:;]+[a-z][a-z'-]*){3,}")
"""Four words on end, all but the first in lower case: what no name or unit looks like."""

LOG = """\
(APIServer pid=1) INFO 04-22 00:46:03 [utils.py:299]  version 0.19.0
(EngineCore pid=2) INFO 04-22 00:46:14 [core.py:105] Initializing a V1 LLM engine (v0.19.0) with \
config: model='Qwen/Qwen2.5-7B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, \
tensor_parallel_size=1, pipeline_parallel_size=1, enforce_eager=False, kv_cache_dtype=auto
(EngineCore pid=2) INFO 04-22 00:47:00 [gpu_worker.py:460] Available KV cache memory: 58.53 GiB
(EngineCore pid=2) INFO 04-22 00:47:00 [kv_cache_utils.py:1310] GPU KV cache size: 1,096,000 tokens
(EngineCore pid=2) DEBUG 04-22 00:47:19 [gpu_worker.py:661] Free memory on device (78.68/79.19 \
GiB) on startup. Desired GPU memory utilization is (0.95, 75.23 GiB). Actual usage is 14.25 GiB \
for weight, 2.21 GiB for peak activation, 0.24 GiB for non-torch memory, and 0.87 GiB for \
CUDAGraph memory. Current kv cache memory in use is 58.53 GiB.
"""

PLANS = (
    "--users 3000 --model Qwen/Qwen3-32B-FP8 --gpu h100-80gb --engine tgi",
    "--users 3000 --model Qwen/Qwen3-32B-FP8 --gpu h100-80gb --engine tensorrt-llm",
    "--sessions 4 --model Qwen/Qwen3-8B --gpu rtx-5090-32gb --engine sglang",
    "--sessions 1 --model google/gemma-3-27b-it --gpu m3-ultra-512gb",
    "--sessions 8 --model openai/gpt-oss-120b --gpu mi300x-192gb",
    "--sessions 8 --model deepseek-ai/DeepSeek-V3.2 --gpu h200-141gb --tp 8",
    "--sessions 8 --model Qwen/Qwen3-30B-A3B --gpu rtx-3090-24gb --link 10gbe --gpus 4",
    "--sessions 500 --model meta-llama/Llama-3.1-405B-Instruct --gpu rtx-4090-24gb --gpus 2",
    "--gpus 8 --gpu h200-141gb --model Qwen/Qwen3-235B-A22B-FP8",
    "--sessions 24 --gpu a100-80gb --params 30e9 --tariff 120 --exchange-rate 1350",
    "--sessions 24 --model Qwen/Qwen3-14B --gpu l40s-48gb --weights nvfp4 --engine-version 0.9.2",
)
STARTS = (
    "--model Qwen/Qwen3-8B --gpu rtx-4090-24gb --engine-version 0.9.2",
    "--model Qwen/Qwen3-8B --gpu l40s-48gb --engine-version 0.33.0 --tp 1 --pp 2",
    "--model meta-llama/Llama-3.1-70B --gpu h100-80gb",
    "--model Qwen/Qwen3-8B --gpu t4-16gb --engine sglang --engine-version 0.7.0",
    "--model Qwen/Qwen3-8B --gpu h100-80gb --engine tgi --engine-version 5.0",
    "--model Qwen/Qwen3-8B --gpu h100-80gb --engine tensorrt-llm",
    "--model google/gemma-3-27b-it --gpu rtx-5090-32gb --engine llamacpp",
    "--model deepseek-ai/DeepSeek-V3.2 --gpu b200-180gb --tp 8 --engine-version 0.19.0",
    "--model openai/gpt-oss-120b --gpu mi300x-192gb",
)


CITED = re.compile(r"^\| 출처 .*$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def page(capsys: pytest.CaptureFixture[str], verb: str, asked: str, language: str) -> str:
    assert main([verb, *asked.split(), "--lang", language]) == 0
    return capsys.readouterr().out


def markdown(capsys: pytest.CaptureFixture[str], verb: str, asked: str, language: str) -> str:
    return page(capsys, verb, f"{asked} --format markdown", language)


def english(text: str) -> list[str]:
    """Sentences outside code, which is the engine's or the shell's, and the model's citation."""
    return SENTENCE.findall(CITED.sub("", CODE.sub("", text)))


@pytest.mark.parametrize("asked", PLANS)
def test_a_plan_in_korean_is_korean(capsys: pytest.CaptureFixture[str], asked: str) -> None:
    assert english(markdown(capsys, "plan", asked, "ko")) == []


@pytest.mark.parametrize("asked", STARTS)
def test_a_start_in_korean_is_korean(capsys: pytest.CaptureFixture[str], asked: str) -> None:
    assert english(markdown(capsys, "fit", asked, "ko")) == []
    told = markdown(capsys, "fit", asked, "en")
    assert not re.search("[가-힣]", told)
    assert english(told)


def test_programs_read_english_of_a_start(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(page(capsys, "fit", f"{STARTS[4]} --format json", "ko"))
    told = [*document["doubts"], *document["warnings"], *(x["source"] for x in document["lines"])]
    assert "an estimate" in told
    assert "TGI's overheads are estimates, no public start-up log was compared" in told
    assert not re.search("[가-힣]", "".join(told))


def test_a_log_of_another_model_is_doubted_in_both(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "boot.log"
    file.write_text(LOG, encoding="utf-8")
    asked = f"--model Qwen/Qwen3-8B --gpu h100-80gb --calibrate {file}"
    for verb, more in (("fit", ""), ("plan", " --sessions 8")):
        korean, told = (markdown(capsys, verb, asked + more, language) for language in ("ko", "en"))
        assert english(korean) == []
        assert "다른 모델(Qwen/Qwen2.5-7B-Instruct)의 로그입니다" in korean
        assert "the log is of another model (Qwen/Qwen2.5-7B-Instruct)" in told


def test_the_worked_example_in_korean_is_korean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *flags(USERS | MODEL), "--lang", "ko", "--format", "markdown"]) == 0
    assert english(capsys.readouterr().out) == []


def test_an_unknown_architecture_is_told_in_both(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = {
        "model_type": "brandnew", "hidden_size": 2048, "intermediate_size": 8192,
        "num_hidden_layers": 16, "num_attention_heads": 32, "vocab_size": 32000,
        "max_position_embeddings": 32768,
    }  # fmt: skip
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    asked = f"--model {file} --gpu h100-80gb --sessions 4"
    assert "아는 구조가 아니므로(brandnew)" in page(capsys, "plan", asked, "ko")
    assert "brandnew is not known: taken as a plain" in page(capsys, "plan", asked, "en")
