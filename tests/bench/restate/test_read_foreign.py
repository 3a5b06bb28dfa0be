"""Real result files of other tools, trimmed to a few requests, under our definitions.

The files are of one emulated engine (30 tokens an answer, one an event): vLLM 0.32.0's
`vllm bench serve`, aiperf 0.13.0, guidellm 0.8.1. evalscope's is written after its source,
perf/utils/db_util.py of 1.14.1.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from proa.bench.restate.read_foreign import read_foreign
from proa.bench.restate.restated import stats_of
from proa.errors import InputError

DATA = Path(__file__).parent / "data"


def changed(tmp_path: Path, name: str, **changes: Any) -> Path:
    path = tmp_path / name
    found = json.loads((DATA / name).read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def test_b1_b11_vllms_role_chunk_is_no_first_token() -> None:
    """B1, B11: 31 chunks of 30 tokens: the first holds none, so TTFT is one gap later."""
    (level,) = read_foreign(DATA / "vllm.json")
    told = json.loads((DATA / "vllm.json").read_text(encoding="utf-8"))
    assert "role_chunk" in level.notes
    stats = stats_of(level)
    assert stats is not None
    means = [ttft + gaps[0] for ttft, gaps in zip(told["ttfts"], told["itls"], strict=True)]
    assert stats.ttft_s.mean == pytest.approx(sum(means) / 4)
    assert stats.itl_s.n == 4 * 29
    assert (level.users, stats.requests, stats.errors) == (8, 4, 0)


def test_b1_vllm_with_a_role_long_before_the_first_token(tmp_path: Path) -> None:
    """B1: the role at 5 ms, 'Hi' at 214 ms, then 20 ms: TTFT 214 ms."""
    path = changed(
        tmp_path, "vllm.json",
        ttfts=[0.005], itls=[[0.209, 0.02]], output_lens=[2], input_lens=[3],
        start_times=[7.0], errors=[""],
    )  # fmt: skip
    stats = stats_of(read_foreign(path)[0])
    assert stats is not None
    assert stats.ttft_s.mean == pytest.approx(0.214)
    assert stats.tpot_s.mean == pytest.approx(0.020)


def test_b13_both_weightings_come_out_of_vllms_gaps(tmp_path: Path) -> None:
    """B13: vllm #6531: a request of 2 tokens at 100 ms, one of 200 at 20 ms."""
    path = changed(
        tmp_path, "vllm.json", endpoint_type="openai", backend="openai",
        ttfts=[0.1, 0.1], itls=[[0.1], [0.02] * 199], output_lens=[2, 200], input_lens=[3, 3],
        start_times=[0.0, 0.0], errors=["", ""],
    )  # fmt: skip
    stats = stats_of(read_foreign(path)[0])
    assert stats is not None
    assert stats.itl_per_request_s.mean == pytest.approx(0.060)
    assert stats.itl_s.mean == pytest.approx(0.0204, abs=1e-5)


def test_b49_failures_of_vllm_stay_in_the_denominator(tmp_path: Path) -> None:
    """B49: one of two is 50 %."""
    path = changed(
        tmp_path, "vllm.json",
        ttfts=[0.1, 0.0], itls=[[0.0, 0.02], []], output_lens=[2, 0], input_lens=[3, 3],
        start_times=[0.0, 0.0], errors=["", "Service Unavailable"],
    )  # fmt: skip
    stats = stats_of(read_foreign(path)[0])
    assert stats is not None
    assert (stats.errors, stats.error_rate) == (1, 0.5)


def test_b14_bundled_tokens_cannot_be_recovered(tmp_path: Path) -> None:
    """B14: 16 tokens in 9 chunks: how many the first one held is not in the file."""
    path = changed(
        tmp_path, "vllm.json", endpoint_type="openai", backend="openai",
        ttfts=[1.0], itls=[[0.05] * 8], output_lens=[16], input_lens=[3], start_times=[0.0],
        errors=[""],
    )  # fmt: skip
    (level,) = read_foreign(path)
    assert "first_tokens" in level.lost


def test_vllm_without_details_has_sums_only(tmp_path: Path) -> None:
    path = tmp_path / "vllm.json"
    found = json.loads((DATA / "vllm.json").read_text(encoding="utf-8"))
    path.write_text(json.dumps({k: v for k, v in found.items() if not isinstance(v, list)}))
    (level,) = read_foreign(path)
    assert stats_of(level) is None
    assert "not_detailed" in level.lost
    assert level.told["tpot_s"]["mean"] == pytest.approx(found["mean_tpot_ms"] / 1e3)


def test_b16_aiperf_is_counted_by_usage_and_not_by_its_tokenizer() -> None:
    """B16: it counted 32 tokens and more where the engine generated 30."""
    (level,) = read_foreign(DATA / "aiperf.jsonl")
    assert [sample.output_tokens for sample in level.samples] == [30, 30, 30]
    assert {"own_tokenizer", "itl_is_tpot"} <= set(level.notes)
    stats = stats_of(level)
    assert stats is not None
    record = json.loads((DATA / "aiperf.jsonl").read_text(encoding="utf-8").splitlines()[0])
    gaps = record["metrics"]["inter_chunk_latency"]["value"]
    first = min(level.samples, key=lambda sample: sample.number)
    assert first.tpot_s == pytest.approx(sum(gaps) / 1e3 / 29)
    assert first.ttft_s == pytest.approx(record["metrics"]["time_to_first_token"]["value"] / 1e3)


def test_sums_of_aiperf_are_told_and_not_restated() -> None:
    (level,) = read_foreign(DATA / "aiperf_sums.json")
    assert (level.tool, level.version, level.model) == ("aiperf", "0.13.0", "m")
    assert level.told["ttft_s"]["p95"] is not None
    assert "only_sums" in level.lost
    assert stats_of(level) is None


def test_guidellms_time_per_token_holds_the_first_ones_wait() -> None:
    """Its TPOT is the whole time over all tokens; its ITL is ours."""
    (level,) = read_foreign(DATA / "guidellm.json")
    found = json.loads((DATA / "guidellm.json").read_text(encoding="utf-8"))
    requests = found["benchmarks"][0]["requests"]["successful"]
    ours = sorted(sample.tpot_s or 0.0 for sample in level.samples)
    assert ours == pytest.approx(sorted(r["inter_token_latency_ms"] / 1e3 for r in requests))
    theirs = sorted(r["time_per_output_token_ms"] / 1e3 for r in requests)
    assert all(a < b for a, b in zip(ours, theirs, strict=True))
    assert {"tpot_with_ttft", "only_successful"} <= set(level.notes)
    assert (level.users, level.version) == (4, "0.8.1")
    assert stats_of(level) is not None


def evalscope_file(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE result(request TEXT, start_time REAL, inter_token_latencies TEXT, "
            "success INTEGER, response_messages TEXT, completed_time REAL, latency REAL, "
            "first_chunk_latency REAL, prompt_tokens INTEGER, completion_tokens INTEGER, "
            "max_gpu_memory_cost REAL, time_per_output_token REAL, request_id TEXT, "
            "is_stream INTEGER)"
        )
        row = ("{}", 5.0, "[0.02, 0.02]", 1, "x", 6.0, 0.3, 0.2, 7, 3, 0.0, 0.05, "", 1)
        unseen = ("{}", 5.0, "[]", 1, "x", 6.0, 0.3, 0.0, 7, 3, 0.0, 0.15, "", 1)
        failed = ("{}", 6.0, "[]", 0, "x", 6.1, None, None, None, None, None, None, "", 1)
        marks = ", ".join("?" * len(row))
        connection.executemany(f"INSERT INTO result VALUES ({marks})", [row, unseen, failed])
    connection.close()
    return path


def test_b7_evalscopes_zero_is_no_first_token(tmp_path: Path) -> None:
    """B7: an unmeasured TTFT is missing and not 0; a failure counts."""
    (level,) = read_foreign(evalscope_file(tmp_path / "benchmark_data.db"))
    stats = stats_of(level)
    assert stats is not None
    assert (stats.ttft_s.n, stats.ttft_s.missing) == (1, 1)
    assert stats.ttft_s.mean == pytest.approx(0.2)
    assert stats.tpot_s.mean == pytest.approx(0.02)
    assert (stats.requests, stats.errors) == (3, 1)


def test_evalscopes_summary_is_told(tmp_path: Path) -> None:
    path = tmp_path / "benchmark_summary.json"
    summary = {"Total Requests": 9, "Concurrency": 4, "Avg TTFT (ms)": 120.0}
    path.write_text(json.dumps(summary), encoding="utf-8")
    (level,) = read_foreign(path)
    assert (level.users, level.told["ttft_s"]["mean"]) == (4, 0.12)


@pytest.mark.parametrize("content", ["", "{}", "[1, 2]", "no json", '{"a": 1}\n{"a": 2}\n'])
def test_other_files_are_refused_with_what_is_known(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="known are guidellm"):
        read_foreign(path)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("vllm.json", {"ttfts": 7}, "not in a known form"),
        ("vllm.json", {"itls": [[]]}, "itls: accepted is a list of 4 values"),
        ("guidellm.json", {"benchmarks": [{"metrics": {}}]}, "requests is missing"),
    ],
)
def test_a_damaged_file_names_the_key(
    tmp_path: Path, name: str, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        read_foreign(changed(tmp_path, name, **changes))


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other(a)")
    connection.close()
    with pytest.raises(InputError, match="no database of evalscope"):
        read_foreign(path)
    with pytest.raises(InputError, match="No such file"):
        read_foreign(tmp_path / "none.json")
