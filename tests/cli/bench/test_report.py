"""`proa bench report`, `verify` and `import`, by what they print and their exit codes."""

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.bench.keep.kept_runs import written
from tests.cli.bench.kept_files import checked

from proa.cli.bench.report_sections import verdict
from proa.cli.main import main
from proa.cli.page.blocks import Prose
from proa.cli.texts import Texts, texts_of

CONTRACT = """
[contract]
sessions = 1
mean_input_tokens = 11
user_tokens_per_s = 30
ttft_p95_s = 2.0
"""
FOREIGN = Path(__file__).parents[2] / "bench" / "restate" / "data"
SUMS = "aiperf_sums.json"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.sqlite"
    written(path)
    return path


def test_a_page_is_one_small_file_that_fetches_nothing(run: Path) -> None:
    for language in ("ko", "en"):
        out = run.with_name(f"{language}.html")
        assert main(["bench", "report", str(run), "--lang", language, "--out", str(out)]) == 0
        page = out.read_text(encoding="utf-8")
        assert len(page.encode()) < 2_000_000
        assert f'<html lang="{language}">' in page
        assert re.findall(r'(?:src|href)="|url\(|@import|<link', page) == []
        assert page.index("<svg") > page.index("<h2>")
        assert main(["bench", "verify", str(out), str(run)]) == 0


def test_a_forged_number_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run.with_name("r.json")
    main(["bench", "report", str(run), "--format", "json", "--out", str(out)])
    assert main(["bench", "verify", str(out), str(run), "--lang", "en"]) == 0
    told = json.loads(out.read_text(encoding="utf-8"))
    told["runs"][0]["levels"][0]["ttft_s"]["p50"] = 0.05
    out.write_text(json.dumps(told), encoding="utf-8")
    capsys.readouterr()
    assert main(["bench", "verify", str(out), str(run), "--lang", "en"]) == 4
    assert "levels[0].ttft_s.p50: the report says 0.05" in capsys.readouterr().out


def test_a_report_over_two_runs_wants_two_files(run: Path) -> None:
    other = run.with_name("other.sqlite")
    written(other)
    out = run.with_name("two.html")
    assert main(["bench", "report", str(run), str(other), "--out", str(out), "--lang", "en"]) == 0
    page = out.read_text(encoding="utf-8")
    drawn = page[page.index("All runs over the load") : page.index("run.sqlite: Verdict")]
    assert drawn.count("<svg") == 3
    assert drawn.count("run.sqlite · 1:") == drawn.count("other.sqlite · 1:") == 3
    assert main(["bench", "verify", str(out), str(run), str(other)]) == 0
    assert main(["bench", "verify", str(out), str(run)]) == 2


def test_a_contract_that_is_not_decided_is_not_kept(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = run.with_name("proa.toml")
    contract.write_text(CONTRACT, encoding="utf-8")
    asked = ["bench", "report", str(run), "--contract", str(contract), "--format", "markdown"]
    assert main([*asked, "--lang", "en"]) == 4
    page = capsys.readouterr().out
    assert page.startswith("# Measurement of m\n\n*contract not decided*")
    assert "| Speed for each user | 30 tok/s or more, for 95% of the requests |" in page
    assert main([*asked, "--lang", "ko"]) == 4
    assert "| 동시 사용자 | 1 |" in capsys.readouterr().out


def test_tables_have_a_row_for_each_request(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    assert main(["bench", "report", str(run), "--format", "csv", "--table", "requests"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 21
    assert rows[7]["failure"] == "status"
    assert main(["bench", "report", str(run), "--format", "csv"]) == 0
    (level,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (level["users"], level["requests"], level["ttft_s.n"]) == ("1", "12", "11")
    out = run.with_name("r.parquet")
    assert main(["bench", "report", str(run), "--format", "parquet", "--out", str(out)]) == 0
    table = parquet.read_table(out).to_pylist()
    assert [row["ttft_s"] for row in table] == [float(row["ttft_s"]) for row in rows]


def test_parquet_names_the_extra_that_is_missing(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["bench", "report", str(run), "--format", "parquet"]
    assert main(asked) == 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main([*asked, "--out", str(run.with_name("r.parquet"))]) == 2
    assert "proa[parquet]" in capsys.readouterr().err


def test_files_of_other_tools_are_restated(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(FOREIGN / name) for name in ("vllm.json", "aiperf.jsonl", "guidellm.json")]
    for language in ("ko", "en"):
        assert main(["bench", "import", *files, "--lang", language]) == 0
    told = capsys.readouterr().out
    assert "vllm bench serve: m, 8 users, 4 requests, 0 failed" in told
    assert "되살릴 수 없는 것:" in told
    assert main(["bench", "import", *files, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    levels = told["levels"]
    assert [level["tool"] for level in levels] == ["vllm bench serve", "aiperf", "guidellm"]
    assert main(["bench", "import", __file__]) == 2


def test_requests_of_other_tools_are_kept_and_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(FOREIGN / name) for name in ("vllm.json", "aiperf.jsonl", "guidellm.json")]
    out = tmp_path / "other.sqlite"
    assert main(["bench", "import", *files, "--format", "json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = checked(out, told, capsys)
    assert len(rows) == sum(level["requests"] for level in told["levels"])
    assert {row["tool"] for row in rows} == {level["tool"] for level in told["levels"]}


def test_sums_alone_cannot_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sums.sqlite"
    sums = str(FOREIGN / SUMS)
    assert main(["bench", "import", sums, "--out", str(out), "--lang", "en"]) == 2
    assert f"{SUMS} holds sums only" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("verb", ["bench_report", "bench_import"])
def test_both_languages_have_the_same_texts(verb: str) -> None:
    texts = texts_of(verb)
    assert texts["ko"].keys() == texts["en"].keys()
    for key, text in texts["en"].items():
        names = re.findall(r"\{(\w*)", text)
        assert sorted(re.findall(r"\{(\w*)", texts["ko"][key])) == sorted(names), key


@pytest.mark.parametrize(
    ("language", "of", "said"),
    [
        ("en", "users", "24 users keep it, 32 users do not; the boundary is at 27 users "),
        ("en", "rate", "10 requests/s keep it, 15 requests/s do not; the boundary is at 12.5 "),
        ("ko", "users", "24명까지는 지키고 32명에서는 지키지 못합니다. 한계는 27명입니다"),
        (
            "ko",
            "rate",
            "초당 10건까지는 지키고 초당 15건에서는 지키지 못합니다. 한계는 초당 12.5건",
        ),
    ],
)
def test_a_boundary_has_the_unit_of_its_load(language: str, of: str, said: str) -> None:
    of_users = {"passes": 24, "fails": 32, "estimate": 27, "low": 26, "high": 28}
    of_rates = {"passes": 10, "fails": 15, "estimate": 12.5, "low": 11.25, "high": 12.5}
    boundary = (of_users if of == "users" else of_rates) | {
        "of": of, "confidence": 0.9, "decided": True,
    }  # fmt: skip
    told: dict[str, Any] = {"stopped": None, "levels": [], "boundary": boundary, "reasons": []}
    blocks = verdict(told | {"conditions": {"slo": None}}, Texts("bench_report", language))
    assert said in "".join(block.text for block in blocks if isinstance(block, Prose))
