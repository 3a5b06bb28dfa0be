"""`proa fit`: flags, formats, languages, batches, logs, and what is refused."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proa.cli.fit.fields import BY_NAME, FIELDS
from proa.cli.main import main
from proa.cli.texts import texts_of

START = ["fit", "--model", "Qwen/Qwen3-8B", "--gpu", "rtx-4090-24gb", "--max-model-len", "8K"]
PROMISED = {
    "weights_bytes",
    "activation_bytes",
    "non_torch_bytes",
    "cuda_graph_bytes",
    "fragmentation_bytes",
    "headroom_bytes",
    "kv_cache_bytes",
    "kv_cache_tokens",
    "max_concurrency",
    "fits",
    "uncertain",
}

# vLLM 0.19.0 on an H100; amounts of
# https://github.com/jgchn/llm-d-planner/tree/56dc5b76ca535960998bdf9fd4a3077d98fdf60a/accuracy/
# results/v0.19.0/logs (Qwen2.5-7B-Instruct, 8,192 tokens)
LOG = """\
(APIServer pid=1) INFO 04-22 00:46:03 [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.0
(EngineCore pid=2) INFO 04-22 00:46:14 [core.py:105] Initializing a V1 LLM engine (v0.19.0) with \
config: model='Qwen/Qwen2.5-7B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, \
tensor_parallel_size=1, pipeline_parallel_size=1, enforce_eager=False, kv_cache_dtype=auto
(EngineCore pid=2) INFO 04-22 00:47:00 [gpu_worker.py:460] Available KV cache memory: 58.53 GiB
(EngineCore pid=2) INFO 04-22 00:47:00 [kv_cache_utils.py:1310] GPU KV cache size: 1,096,000 tokens
(EngineCore pid=2) INFO 04-22 00:47:00 [kv_cache_utils.py:1311] Maximum concurrency for 8,192 \
tokens per request: 133.79x
(EngineCore pid=2) DEBUG 04-22 00:47:19 [gpu_worker.py:661] Free memory on device (78.68/79.19 \
GiB) on startup. Desired GPU memory utilization is (0.95, 75.23 GiB). Actual usage is 14.25 GiB \
for weight, 2.21 GiB for peak activation, 0.24 GiB for non-torch memory, and 0.87 GiB for \
CUDAGraph memory. Current kv cache memory in use is 58.53 GiB.
"""


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*START, *arguments]) == 0
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(said(capsys, "--format", "json", *arguments))
    return answer


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["fit", *arguments]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    return out.err


def batch(tmp_path: Path, capsys: pytest.CaptureFixture[str], *lines: str) -> list[dict[str, Any]]:
    path = tmp_path / "starts.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main(["fit", "--batch", str(path)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_has_the_keys_that_others_read(capsys: pytest.CaptureFixture[str]) -> None:
    answer = document(capsys)
    assert set(answer) >= PROMISED
    assert answer["fits"] is True
    assert answer["missing_bytes"] is None
    assert answer["kv_bytes_per_token"] == 147_456
    assert answer["max_concurrency"] == pytest.approx(answer["kv_cache_tokens"] / 8192, abs=1e-3)


def test_text_has_both_units_and_the_engine_s_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "--lang", "en")
    assert "GiB" in out
    assert "GB is 10^9 bytes" in out
    assert "Available KV cache memory: " in out
    assert "Maximum concurrency for 8,192 tokens per request: " in out


def test_korean(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "--lang", "ko")
    assert "가중치" in out
    assert "동시 처리" in out
    assert "GPU KV cache size: " in out


def test_both_languages_have_the_same_texts() -> None:
    texts = texts_of("fit")
    assert texts["ko"].keys() == texts["en"].keys()


def test_markdown_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--format", "markdown", "--lang", "en").startswith("# Qwen/Qwen3-8B on 1")
    rows = list(csv.DictReader(io.StringIO(said(capsys, "--format", "csv"))))
    assert {row["key"] for row in rows} >= PROMISED


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp", "tgi", "tensorrt-llm"])
@pytest.mark.parametrize("language", ["ko", "en"])
def test_every_engine_in_every_language(
    capsys: pytest.CaptureFixture[str], engine: str, language: str
) -> None:
    assert main([*START[:4], "h100-80gb", "--engine", engine, "--lang", language]) == 0
    assert engine in capsys.readouterr().out


def test_what_does_not_fit_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    answer = document(capsys, "--max-model-len", "1M")
    assert answer["fits"] is False
    assert answer["missing_bytes"] > 100 * 10**9
    longest = answer["longest_max_model_len"]
    assert 0 < longest < 2**20
    again = document(capsys, "--max-model-len", str(longest))
    assert again["fits"] is True
    assert document(capsys, "--max-model-len", str(longest + 16))["fits"] is False


def test_weights_that_do_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    answer = document(capsys, "--model", "Qwen/Qwen3-32B")
    assert answer["kv_cache_bytes"] < 0
    assert answer["longest_max_model_len"] is None
    assert answer["log"][-1].startswith("ValueError")


def test_memory_that_others_hold(capsys: pytest.CaptureFixture[str]) -> None:
    free = document(capsys)
    full = document(capsys, "--taken", "12GiB")
    assert free["fits"] is True
    assert full["fits"] is False
    assert full["missing_bytes"] > 0


@pytest.mark.parametrize(
    ("flags", "layout"),
    [
        ((), (1, 1, 1, 1)),
        (("--gpus", "4"), (4, 1, 4, 1)),
        (("--gpus", "4", "--pp", "2"), (2, 2, 4, 1)),
        (("--tp", "2"), (2, 1, 2, 1)),
        (("--gpus", "4", "--tp", "2"), (2, 1, 4, 2)),
        (("--engine", "llamacpp", "--gpus", "2"), (1, 2, 2, 1)),
    ],
)
def test_gpus_become_a_layout(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], layout: tuple[int, int, int, int]
) -> None:
    answer = document(capsys, *flags)
    names = ("tensor_parallel", "pipeline_parallel", "gpus", "replicas")
    assert tuple(answer[name] for name in names) == layout


@pytest.mark.parametrize(
    ("name", "most"),
    [("awq", 6.5), ("fp8", 9.6), ("q4_k_m", 5.2), ("none", 17.0)],
)
def test_quantisation(capsys: pytest.CaptureFixture[str], name: str, most: float) -> None:
    flags = ("--engine", "llamacpp") if name.startswith("q4") else ()
    answer = document(capsys, "--quantization", name, *flags)
    assert answer["weights_bytes"] < most * 10**9


def test_a_log_takes_the_place_of_estimates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "boot.log"
    log.write_text(LOG, encoding="utf-8")
    start = ["--model", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "h100-80gb"]
    start += ["--calibrate", str(log), "--gpu-memory-utilization", "0.95"]
    same = document(capsys, *start)
    assert same["kv_cache_tokens"] == pytest.approx(1_096_000, rel=0.0005)
    assert (same["uncertain"], same["calibrated_by"]) == (False, str(log))
    assert same["weights_bytes"] == round(14.25 * 2**30)
    fp8 = document(capsys, *start, "--kv-dtype", "fp8")
    assert fp8["kv_cache_tokens"] == pytest.approx(2_192_000, rel=0.0005)
    assert "known from          the start-up log" in said(capsys, *start, "--lang", "en")


def test_engine_and_layout_come_from_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "boot.log"
    log.write_text(
        "[2026-03-08 10:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=2,"
        " mem_fraction_static=0.85)\n"
        "[2026-03-08 10:00:01 TP0] Load weight begin. avail mem=78.0 GB\n"
        "[2026-03-08 10:00:09 TP0] Load weight end. type=Qwen3ForCausalLM, avail mem=70.0 GB,"
        " mem usage=8.00 GB.\n"
        "[2026-03-08 10:00:09 TP0] KV Cache is allocated. #tokens: 800000, K size: 27.47 GB,"
        " V size: 27.47 GB\n",
        encoding="utf-8",
    )
    start = ("--gpu", "h100-80gb", "--calibrate", str(log))
    answer = document(capsys, *start)
    assert (answer["engine"], answer["tensor_parallel"]) == ("sglang", 2)
    assert document(capsys, *start, "--tp", "4")["tensor_parallel"] == 4
    assert "a log of vllm" in refused(capsys, *START[1:3], *start, "--engine", "vllm")


def test_a_log_of_another_machine_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "boot.log"
    log.write_text(LOG, encoding="utf-8")
    told = refused(capsys, *START[1:], "--calibrate", str(log))
    assert "--calibrate" in told
    assert "79.19 GiB" in told
    assert "rtx-4090-24gb" in told


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--model", "Qwen/Qwen3-8C"), "nearest: Qwen/Qwen3-8B"),
        (("--gpu", "rtx-4091"), "nearest: rtx-4090"),
        (("--tp", "3"), "--tp = 3: accepted is one of 1, 2, 4"),
        (("--tp", "0"), "--tp = '0': accepted is a whole number from 1"),
        (("--pp", "99"), "36 layers"),
        (("--gpus", "3", "--tp", "2"), "--gpus = 3: accepted is a multiple of tp x pp = 2"),
        (("--max-model-len", "-8"), "--max-model-len"),
        (
            ("--gpu-memory-utilization", "90"),
            "--gpu-memory-utilization = '90': accepted is a share",
        ),
        (("--kv-dtype", "fp7"), "--kv-dtype = 'fp7': accepted is one of auto"),
        (("--quantization", "q9"), "--quantization = 'q9': accepted is one of none"),
        (("--engine", "ollama"), "--engine = 'ollama': accepted is one of vllm"),
        (("--engine-version", "newest"), "accepted is a version, as 0.19.0"),
        (("--headroom", "3G"), "--headroom = '3G'"),
        (("--headroom", "99GiB"), "less than the 23.52 GiB of rtx-4090-24gb"),
        (("--engine", "llamacpp", "--tp", "2"), "llama.cpp splits layers"),
        (("--expert-parallel",), "no experts"),
        (("--calibrate", "/nowhere/boot.log"), "--calibrate = '/nowhere/boot.log'"),
        (("--format", "json", "--batch", "/nowhere.jsonl"), "/nowhere.jsonl"),
        (("--format", "text", "--batch", "x"), "--format = 'text'"),
    ],
)
def test_wrong_input_is_refused_with_what_is_accepted(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], told: str
) -> None:
    assert told in refused(capsys, *START[1:], *flags)


@pytest.mark.parametrize("flags", [(), ("--model", "Qwen/Qwen3-8B"), ("--gpu", "h100-80gb")])
def test_model_and_gpu_are_needed(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    assert "a name of the catalogue" in refused(capsys, *flags)


def test_a_batch_answers_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = batch(
        tmp_path,
        capsys,
        '{"model": "Qwen/Qwen3-8B", "gpu": "rtx-4090-24gb", "max_model_len": "8K"}',
        '{"model": "Qwen/Qwen3-8B", "gpu": "no such"}',
        "",
        "nonsense",
        "[]",
        '{"model": "Qwen/Qwen3-8B", "gpu": "h100-80gb", "max_modl_len": 1}',
        '{"model": "Qwen/Qwen3-8B", "gpu": "h100-80gb", "max_model_len": NaN}',
        '{"model": 7, "gpu": "h100-80gb"}',
    )
    assert [("error" in answer) for answer in answers] == [False, *[True] * 6]
    assert set(answers[0]) >= PROMISED
    assert answers[1]["error"]["field"] == "gpu"
    assert answers[1]["error"]["value"] == "no such"
    assert "nearest" in answers[1]["error"]["accepted"]
    assert answers[2]["error"]["field"] == "line 4"
    assert "max_model_len" in answers[4]["error"]["message"]


def test_flags_stand_in_for_what_a_line_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "starts.jsonl"
    path.write_text('{"gpu": "rtx-3090-24gb"}\n{"max_model_len": 4096}\n', encoding="utf-8")
    assert main([*START, "--batch", str(path)]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["gpu"], first["max_model_len"]) == ("rtx-3090-24gb", 8192)
    assert (second["gpu"], second["max_model_len"]) == ("rtx-4090-24gb", 4096)


def test_a_config_json_is_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "my-model" / "config.json"
    config.parent.mkdir()
    config.write_text(
        json.dumps(
            {
                "architectures": ["Qwen3ForCausalLM"],
                "model_type": "qwen3",
                "hidden_size": 4096,
                "intermediate_size": 12288,
                "num_hidden_layers": 36,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "vocab_size": 151936,
                "max_position_embeddings": 40960,
            }
        ),
        encoding="utf-8",
    )
    assert document(capsys, "--model", str(config))["kv_bytes_per_token"] == 147_456


def test_rows_of_one_s_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "ours.toml"
    rows.write_text(
        '[[gpus]]\nid = "l40s-own-48gb"\nlike = "l40s"\nusable_memory = "44.4 GiB"\n'
        '[[models]]\nid = "team/support-14b"\nlike = "qwen3-14b"\n',
        encoding="utf-8",
    )
    own = ("--model", "support-14b", "--gpu", "l40s-own-48gb", "--catalogue", str(rows))
    answer = document(capsys, *own)
    assert (answer["model"], answer["gpu"]) == ("team/support-14b", "l40s-own-48gb")
    assert answer["gpu_bytes"] == pytest.approx(44.4 * 2**30)
    assert "nearest" in refused(capsys, *own[:4])


def test_every_key_of_a_batch_is_a_flag_and_is_told() -> None:
    pages = [Path(__file__).parents[3] / "docs" / name for name in ("fit.md", "fit.ko.md")]
    assert len(BY_NAME) == len(FIELDS)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert [field.flag for field in FIELDS if f"`{field.flag}`" not in text] == []


def test_it_loads_nothing_heavy_and_asks_no_network() -> None:
    program = (
        "import socket, sys\n"
        "socket.socket.connect = None\n"
        f"sys.argv = ['proa', *{[*START, '--format', 'json']!r}]\n"
        "from proa.cli.main import main\n"
        "assert main() == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    heavy = {"numpy", "scipy", "pydantic", "asyncio", "httpx", "rich", "starlette"}
    heavy |= {"html", "proa.planner.calibration.start"}
    assert heavy & set(ran.stderr.split()) == set()
