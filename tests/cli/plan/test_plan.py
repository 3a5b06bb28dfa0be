"""`proa plan` from the outside: worked examples, keys that programs read, exit codes."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.plan.worked import MODEL, PLACED, USERS, answer, flags, refused

from proa.cli.main import main

DATA = Path(__file__).with_name("data")
KEYS = [
    *("demand", "model", "levers", "placement", "performance", "cost", "clause", "status"),
    *("verify_command", "assumptions", "warnings"),
]
"""What other programs read, in this order; more follows."""

GIB = 2**30


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a plan opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_users_become_tokens_per_second(capsys: pytest.CaptureFixture[str]) -> None:
    """3,000 × 30 % × 8 × 20 % → 0.4/s; × 20 s → 8; × 3 → 24; × 30 → 720."""
    told = answer(capsys, *flags(USERS))
    demand = told["demand"]
    assert demand["daily_active_users"] == 900
    assert demand["daily_requests"] == 7200
    assert demand["peak_requests_per_hour"] == 1440
    assert demand["peak_requests_per_s"] == 0.4
    assert demand["mean_sessions"] == 8
    assert demand["design_sessions"] == 24
    assert demand["decode_tokens_per_s"] == 720
    assert "0.4 × 20" in {step["filled"] for step in demand["steps"]}
    assert list(told)[: len(KEYS)] == KEYS
    assert told["status"] == "provisional"


def test_memory_and_levers_of_the_worked_example(capsys: pytest.CaptureFixture[str]) -> None:
    """48 layers, 8 KV heads, head dimension 128 → 196,608 B per token; 36, 72, 144 GiB."""
    told = answer(capsys, *flags(USERS | MODEL))
    assert told["model"]["weights_bytes"] == 60 * 10**9
    assert told["model"]["kv_bytes_per_token"] == 196_608
    rows = {(r["weights"], r["kv"], r["context_tokens"]): r for r in told["levers"]}
    kv = [rows["bf16", "bf16", tokens]["kv_bytes"] for tokens in (8192, 16384, 32768)]
    assert [count / GIB for count in kv] == [36, 72, 144]
    totals = [rows["bf16", "bf16", tokens]["total_bytes"] for tokens in (8192, 16384, 32768)]
    assert [round(total / 1e9, 1) for total in totals] == [98.7, 137.3, 214.6]
    chosen = [("bf16", "bf16"), ("fp8", "bf16"), ("fp8", "fp8"), ("int4", "fp8")]
    totals = [rows[weights, cache, 32768]["total_bytes"] for weights, cache in chosen]
    assert [round(total / 1e9, 1) for total in totals] == [214.6, 184.6, 107.3, 92.3]
    assert [round(total / GIB, 1) for total in totals] == [199.9, 171.9, 99.9, 86.0]


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_worked_example_reads_as_it_did(
    capsys: pytest.CaptureFixture[str], language: str
) -> None:
    """The whole text and document; `python -m tests.cli.plan.golden_plans` writes them anew."""
    asked = [*flags(USERS | MODEL), "--lang", language]
    text = (DATA / f"plan_{language}.txt").read_text(encoding="utf-8")
    assert answer(capsys, *asked, form="text") == text
    document = json.loads((DATA / f"plan_{language}.json").read_text(encoding="utf-8"))
    assert answer(capsys, *asked) == document


def test_a_placed_plan_has_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    told = answer(capsys, *flags(PLACED))
    placed, speed = told["placement"], told["performance"]
    assert placed["gpu"] == "h100-80gb"
    replicas = placed["replicas"]
    layout = placed["tensor_parallel"] * placed["pipeline_parallel"]
    assert placed["gpus"] == layout * replicas
    assert placed["max_sessions"] >= 24
    assert placed["kv_cache_tokens"] >= 24 * 8192
    assert speed["user_tokens_per_s"] >= 30
    assert speed["binding"] in {"memory", "speed", "ttft"}
    for key in ("ttft_s", "ttft_p95_s", "itl_s", "aggregate_tokens_per_s"):
        assert speed[key] > 0, key
    assert speed["ttft_p95_s"] >= speed["ttft_s"]
    parts = {line["name"] for line in told["memory"]["lines"]}
    assert {"weights", "activation", "cuda_graphs", "kv_cache", "headroom"} <= parts
    assert told["engine"]["engine"] == "vllm"


def test_the_command_that_confirms_names_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    asked = PLACED | {"input_tokens": 6000, "output_tokens": 400, "ttft_p95_s": 2.0}
    told = answer(capsys, *flags(asked | {"context": 6400}))
    assert told["verify_command"] == (
        "proa bench run URL --model Qwen/Qwen3-8B --levels 12,18,24,30,40 --input-tokens 6000"
        " --output-tokens 400 --slo 'user_tokens_per_s>=30,ttft_s<=2'"
    )
    assert told["contract"]["ttft_p95_s"] == 2.0


def test_the_clause_has_the_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"sessions": 24, "input_tokens": 8000, "output_tokens": 500, "tokens_per_s": 30}
    clause = answer(capsys, *flags(asked))["clause"]
    for text in clause.values():
        for number in ("24", "8,000", "30", "16,000", "40"):
            assert number in text


def test_unknown_stays_null(capsys: pytest.CaptureFixture[str]) -> None:
    told = answer(capsys, "--sessions", "4")
    assert told["demand"]["mean_sessions"] is None
    assert told["model"]["weights_bytes"] is None
    assert told["placement"]["gpus"] is None
    assert told["performance"]["user_tokens_per_s"] is None
    assert told["cost"]["power_w"] is None
    assert told["levers"] == []
    assert told["warnings"]


def test_what_was_not_said_is_assumed_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, *flags(USERS | MODEL))["assumptions"][0].startswith("30B: a likely")
    told = answer(capsys, "--users", "100")["assumptions"]
    assert any("active on a day" in line for line in told)
    assert any("8,192 tokens of context" in line for line in told)
    assert len(told) == len(set(told))


def test_money_comes_out_exactly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """(120 + 80) W → 144 kWh × 120 = 17,280 won; $3.16 and $0.59 per tok/s."""
    scenario = tmp_path / "pair.toml"
    scenario.write_text(
        'gpu_price = "$5,000"\naggregate_tokens_per_s = 1582\ngpu_power_w = 120\n'
        'system_power_w = 80\ntariff = "120원"\ncurrency = "USD"\n'
        'cloud_price_per_hour = 3\n[[alternatives]]\nname = "aux"\ngpu_price = 450\n'
        "aggregate_tokens_per_s = 760\n".replace('tariff = "120원"\n', ""),
        encoding="utf-8",
    )
    told = answer(capsys, str(scenario))
    assert told["cost"]["kwh_per_month"] == 144
    assert round(told["cost"]["per_tokens_per_s"], 2) == 3.16
    assert told["cost"]["cloud_per_day"] == 72
    assert told["cost"]["cloud_per_month"] == 2160
    rows = {row["key"]: row for row in told["alternatives"]["rows"]}
    assert list(rows) == ["second_main", "aux", "cloud", "nothing"]
    assert round(rows["aux"]["per_tokens_per_s"], 2) == 0.59
    assert 5.3 <= told["alternatives"]["pair"]["price_ratio"] <= 5.4
    won = answer(capsys, *flags({"gpu_power_w": 120, "system_power_w": 80, "tariff": 120}))
    assert won["cost"]["currency"] == "KRW"
    assert won["cost"]["electricity_per_month"] == 17_280
    assert won["cost"]["electricity_per_year"] == 207_360


def test_given_gpus_become_a_promise(capsys: pytest.CaptureFixture[str]) -> None:
    told = answer(capsys, *flags({"gpus": 2, "gpu": "h100-80gb", "model": "Qwen/Qwen3-8B"}))
    assert told["reverse"]["gpus"] == 2
    assert told["reverse"]["promises"]
    first = told["reverse"]["promises"][0]
    assert told["demand"]["design_sessions"] == first["sessions"]
    assert told["placement"]["max_sessions"] >= first["sessions"]
    assert len(told["reverse"]["frontier"]) > 1
    assert str(first["sessions"]) in told["clause"]["en"]


def test_too_many_gpus_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    told = answer(capsys, *flags(PLACED | {"sessions": 4, "gpus": 8}))
    assert any("8 GPUs would run at" in line for line in told["warnings"])


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_model_without_a_place_is_a_warning(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The rest of the plan is told all the same, and what other GPUs would do."""
    asked = {"sessions": 4, "model": "Qwen/Qwen3-32B", "gpu": "rtx-5060-ti-16gb", "tp": 1, "pp": 1}
    told = answer(capsys, *flags(asked), form=form)
    if form == "json":
        assert told["placement"]["gpus"] is None
        assert told["performance"]["binding"] is None
        assert any("no place on this GPU" in line for line in told["warnings"])
        assert "h100-80gb" in {row["gpu"] for row in told["other_gpus"]}
        assert told["levers"]
    else:
        assert "no place on this GPU" in told


def test_several_models_share_a_gpu(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scenario = tmp_path / "models.toml"
    scenario.write_text(
        'gpu = "rtx-pro-6000-96gb"\n[[models]]\nmodel = "Qwen/Qwen3-8B"\nsessions = 8\n'
        'context = "8K"\n[[models]]\nmodel = "Qwen/Qwen3-32B"\nweights = "int4"\nsessions = 4\n'
        'context = "8K"\n',
        encoding="utf-8",
    )
    told = answer(capsys, str(scenario))["models"]
    assert told["fits"]
    assert sum(row["total_bytes"] for row in told["rows"]) == told["total_bytes"]
    assert all(row["max_sessions"] >= row["sessions"] for row in told["rows"])
    text = answer(capsys, str(scenario), form="text")
    assert "All of them fit rtx-pro-6000-96gb" in text


def test_a_batch_answers_line_by_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    batch = tmp_path / "batch.jsonl"
    lines = ['{"users": 3000}', '{"users": -1}', "", "no", '{"sesions": 4}', '{"sessions": 3}']
    batch.write_text("\n".join(lines), encoding="utf-8")
    assert main(["plan", "--batch", str(batch), "--lang", "en"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [next(iter(line)) for line in told] == ["demand", "error", "error", "error", "demand"]
    assert told[1]["error"]["field"] == "users"
    assert told[1]["error"]["value"] == -1
    assert "did you mean sessions" in told[3]["error"]["message"]
    assert told[4]["demand"]["design_sessions"] == 3


def test_the_contract_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import tomllib

    out = tmp_path / "contract.toml"
    told = answer(capsys, "--sessions", "24", "--contract-out", str(out))
    written = tomllib.loads(out.read_text(encoding="utf-8"))
    limits = told["contract"].pop("extend_above")
    assert written["contract"].pop("extend_above") == limits
    known = {key: value for key, value in told["contract"].items() if value is not None}
    assert written["contract"] == known
    assert "contract_out" in refused(capsys, "--sessions", "4", "--contract-out", "no/such/dir")


def run_of(**level: Any) -> str:
    stats = {"user_tokens_per_s": {"mean": 44.0}, "ttft_s": {"p95": 1.0}, "attainment": 1.0}
    return json.dumps({"levels": [{"users": 24, **stats, **level}]})


@pytest.mark.parametrize(
    ("level", "status"),
    [
        ({}, "confirmed"),
        ({"users": 40}, "confirmed"),
        ({"users": 23}, "provisional"),
        ({"user_tokens_per_s": {"mean": 29.9}}, "provisional"),
        ({"user_tokens_per_s": {"mean": None}}, "provisional"),
        ({"ttft_s": {"p95": 2.1}}, "provisional"),
        ({"attainment": 0.94}, "provisional"),
        ({"attainment": None}, "provisional"),
    ],
)
def test_a_bench_run_that_kept_the_promise_confirms(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, level: dict[str, Any], status: str
) -> None:
    run = tmp_path / "run.json"
    run.write_text(run_of(**level), encoding="utf-8")
    asked = {"sessions": 24, "ttft_p95_s": 2.0, "tokens_per_s": 30, "calibrate": str(run)}
    assert answer(capsys, *flags(asked))["status"] == status


def test_a_run_with_two_users_is_no_evidence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    run.write_text(run_of(users=2), encoding="utf-8")
    told = answer(capsys, *flags(PLACED | {"calibrate": str(run)}))
    assert any("2 users at once" in line for line in told["warnings"])


def test_nothing_heavy_is_imported() -> None:
    """numpy and the like cost more than the whole plan; its own time is measured elsewhere."""
    program = (
        "import sys\nfrom proa.cli.main import main\n"
        f"main(['plan', *{flags(PLACED)!r}])\nprint(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "h100-80gb" in ran.stdout
    heavy = {"numpy", "scipy", "pydantic", "starlette", "rich", "httpx", "asyncio", "uvicorn"}
    assert heavy & set(ran.stderr.split()) == set()
