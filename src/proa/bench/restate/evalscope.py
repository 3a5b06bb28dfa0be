"""evalscope perf: its SQLite file `benchmark_data.db`, or `benchmark_summary.json`.

Source: evalscope 1.14.1, perf/utils/db_util.py and benchmark_util.py (read, not run). Responses
are pickled in it and are never opened. A failed request has no latency there.
"""

import json
import sqlite3
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from proa.bench.restate.restated import Restated, Told, aligned
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource
from proa.errors import InputError

_COLUMNS = ("start_time", "inter_token_latencies", "success", "completed_time", "latency",
            "first_chunk_latency", "prompt_tokens", "completion_tokens",
            "time_per_output_token", "is_stream")  # fmt: skip
_SUMS = (
    ("ttft_s", "Avg TTFT (s)", "Avg TTFT (ms)"),
    ("tpot_s", "Avg TPOT (s)", "Avg TPOT (ms)"),
    ("itl_s", "Avg ITL (s)", "Avg ITL (ms)"),
    ("e2e_s", "Avg Latency (s)", "Avg Latency (ms)"),
)


def is_summary(found: Any) -> bool:
    """Whether an object is its summary."""
    return isinstance(found, Mapping) and {"Total Requests", "Concurrency"} <= found.keys()


def read_summary(found: Mapping[str, Any], where: str) -> list[Restated]:
    """Only what it printed: sums cannot be restated."""
    del where
    told: Told = {}
    for ours, in_s, in_ms in _SUMS:
        if isinstance(found.get(in_s), int | float):
            told[ours] = {"mean": float(found[in_s])}
        elif isinstance(found.get(in_ms), int | float):
            told[ours] = {"mean": float(found[in_ms]) / 1e3}
    users = found["Concurrency"]
    users = users if isinstance(users, int) and users > 0 else None
    return [Restated(tool="evalscope", users=users, told=told, lost=["only_sums"])]


def read_database(path: Path) -> list[Restated]:
    """Raises InputError: it has another table."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            rows = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM result").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(f"{path}: no database of evalscope perf ({error})") from None
    told = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    samples = [_sample(number, row, str(path)) for number, row in enumerate(told)]
    speeds = [row["time_per_output_token"] for row in told if row["success"]]
    firsts = [row["first_chunk_latency"] for row in told if row["success"] and row["is_stream"]]
    return [
        Restated(
            tool="evalscope",
            samples=aligned(samples) if samples else [],
            told=_means(ttft_s=firsts, tpot_s=speeds),
            notes=["zero_is_missing", "evalscope_tpot"],
            lost=["users", "stream_end", "client", "first_tokens", "usage_unknown"],
        )
    ]


def _sample(number: int, row: Mapping[str, Any], where: str) -> RequestSample:
    sent_s = float(row["start_time"])
    common: dict[str, Any] = {
        "number": number, "target": "evalscope", "level": 0, "user": 0, "sent_s": sent_s,
        "input_tokens": row["prompt_tokens"],
    }  # fmt: skip
    if not row["success"] or row["latency"] is None:
        return RequestSample(**common, failure=Failure.STATUS)
    try:
        gaps = json.loads(row["inter_token_latencies"] or "[]")
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: inter_token_latencies of row {number + 1}: {error}") from None
    first_s = row["first_chunk_latency"]
    times: list[float] = []
    if row["is_stream"] and first_s:
        times = list(accumulate(gaps, initial=sent_s + first_s))
    return RequestSample(
        **common,
        first_content_s=times[0] if times else None,
        last_content_s=times[-1] if times else None,
        end_s=sent_s + row["latency"],
        output_tokens=row["completion_tokens"],
        token_source=TokenSource.USAGE,
        first_tokens=1,
        reads=len(times),
        events=tuple(ContentEvent(at_s, 1, n) for n, at_s in enumerate(times)),
    )


def _means(**columns: list[float]) -> Told:
    return {name: {"mean": sum(values) / len(values)} for name, values in columns.items() if values}
