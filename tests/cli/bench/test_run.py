"""`proa bench run` before a server on real sockets: what it prints, refuses, and how it ends."""

import json
from pathlib import Path

import pytest
from tests.cli.bench_servers import InterruptingServer, paced

from proa.bench.paced_server import Pace
from proa.cli.main import main
from proa.cli.texts import texts_of
from proa.testing.ports import closed_port

QUICK = ["--warmup", "0", "--input-tokens", "20", "--output-tokens", "4", "--no-self-check",
         "--processes", "1", "--no-repeat"]  # fmt: skip
PACE = Pace(ttft_s=0.002, gap_s=0.003)


def bench(address: str, *flags: str) -> int:
    return main(["bench", "run", address, *QUICK, *flags])


def test_levels_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with paced(PACE) as address:
        code = bench(address, "--levels", "3", "--requests", "9", "--format", "json",
                     "--slo", "ttft_s<=30")  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    (level,) = told["levels"]
    assert (code, level["users"], level["requests"], level["errors"]) == (0, 3, 9, 0)
    assert (level["verdict"], level["attainment"]) == ("pass", 1.0)
    assert level["ttft_s"].keys() >= {"mean", "p50", "p95", "p99"}
    assert level["scheduled_ttft_s"] is None
    assert told["client"]["verdict"] in ("valid", "suspect", "invalid")
    assert told["conditions"]["targets"][0]["model"] == "paced"


def test_an_slo_that_no_level_keeps_is_exit_code_4(capsys: pytest.CaptureFixture[str]) -> None:
    with paced(PACE) as address:
        code = bench(address, "--levels", "2", "--requests", "6", "--lang", "ko",
                     "--slo", "user_tokens_per_s>=10000")  # fmt: skip
    assert code == 4
    assert texts_of("bench_run")["ko"]["fail"] in capsys.readouterr().out


def test_an_interrupted_run_prints_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with paced(InterruptingServer(PACE, at=40)) as address:
        code = bench(address, "--levels", "2", "--duration", "600", "--lang", "en")
    assert code == 130
    assert "interrupted: 1 visits are above" in capsys.readouterr().out


def test_a_target_that_is_not_there_is_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    with closed_port() as port:
        assert bench(f"127.0.0.1:{port}", "--levels", "2") == 3
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--levels", "8,x"], "--levels"),
        (["--levels", "0"], "--levels"),
        (["--rate", "-1"], "--rate"),
        (["--levels", "8", "--rate", "2"], "--levels and --rate"),
        (["--slo", "ttft<=2"], "slo"),
        (["--attainment", "95"], "--attainment"),
        (["--requests", "0"], "--requests"),
        (["--duration", "0"], "--duration"),
        (["--rag", "x"], "--rag"),
        (["--header", "nonsense"], "--header"),
        (["--extra", "[1]"], "--extra"),
        (["--api-key-env", "PROA_TEST_NO_SUCH_VARIABLE"], "--api-key-env"),
        (["--model", "a", "--model", "b"], "--model"),
        (["--dataset", "missing.jsonl"], "--dataset"),
        (["--shared-prefix", "2"], "shared_prefix"),
    ],
)
def test_flags_that_cannot_be_used_are_named(
    flags: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "run", "http://127.0.0.1:1", *flags]) == 2
    assert named in capsys.readouterr().err


def test_a_contract_is_load_and_slo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract = tmp_path / "proa.toml"
    contract.write_text(
        "[contract]\nsessions = 2\nmean_input_tokens = 60\noutput_tokens = 4\n"
        "user_tokens_per_s = 1.0\nttft_p95_s = 30.0\n"
    )
    with paced(PACE) as address:
        code = bench(address, "--contract", str(contract), "--requests", "6", "--format", "json")
    told = json.loads(capsys.readouterr().out)
    assert (code, [level["users"] for level in told["levels"]]) == (0, [2])
    assert told["conditions"]["slo"]["bounds"] == ["user_tokens_per_s>=1", "ttft_s<=30"]
