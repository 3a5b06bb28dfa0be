"""guidellm's JSON report: `benchmarks`, each with its requests.

Source: a report of guidellm 0.8.1. Its time per output token is the whole time, TTFT included,
over all tokens; its inter-token latency is our TPOT. Gaps between events are not kept.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from proa.bench.restate.restated import Restated, Told, aligned, milliseconds, wanted
from proa.bench.sample import Failure, RequestSample, TokenSource

_STATISTICS = (("p50", "p50"), ("p95", "p95"), ("p99", "p99"))
_SUMS = {
    "ttft_s": "time_to_first_token_ms",
    "tpot_s": "time_per_output_token_ms",
    "itl_s": "inter_token_latency_ms",
}


def is_guidellm(found: Any) -> bool:
    """Whether an object is such a report."""
    return (
        isinstance(found, Mapping)
        and isinstance(found.get("benchmarks"), list)
        and bool(found["benchmarks"])
        and "metrics" in found["benchmarks"][0]
    )


def read_guidellm(found: Mapping[str, Any], where: str) -> list[Restated]:
    """A level for each of its benchmarks. Raises InputError: a key is missing."""
    version = str((found.get("metadata") or {}).get("guidellm_version", ""))
    return [_level(benchmark, version, where) for benchmark in found["benchmarks"]]


def _level(benchmark: Mapping[str, Any], version: str, where: str) -> Restated:
    config = benchmark.get("config") or {}
    strategy = config.get("strategy") or {}
    requests = wanted(benchmark, "requests", where)
    streams = strategy.get("streams") if strategy.get("type_") == "concurrent" else None
    samples = list(_samples(requests, streams, where))
    lost = ["gaps", "client", "stream_end_only", "first_tokens"]
    if requests.get("incomplete"):
        lost.append("incomplete")
    return Restated(
        tool="guidellm",
        version=version,
        model=str((config.get("backend") or {}).get("model") or ""),
        users=streams,
        rate=strategy.get("rate"),
        samples=aligned(samples) if samples else [],
        told=_told(wanted(benchmark, "metrics", where)),
        notes=["tpot_with_ttft", "itl_is_tpot", "only_successful"],
        lost=lost,
        duration_s=benchmark.get("duration"),
    )


def _samples(requests: Mapping[str, Any], users: int | None, where: str) -> Iterator[RequestSample]:
    number = 0
    for kind in ("successful", "errored"):
        for told in requests.get(kind) or ():
            timings = wanted(wanted(told, "info", where), "timings", where)
            sent_s = timings.get("request_start")
            if sent_s is None:
                continue
            common: dict[str, Any] = {
                "number": number, "target": "guidellm", "level": 0, "user": 0, "users": users,
                "sent_s": sent_s, "input_tokens": told.get("prompt_tokens"),
            }  # fmt: skip
            number += 1
            if kind == "errored":
                text = str(told["info"].get("error") or "")[:300]
                yield RequestSample(**common, failure=Failure.STATUS, failure_text=text)
                continue
            yield RequestSample(
                **common,
                first_content_s=timings.get("first_token_iteration"),
                last_content_s=timings.get("last_token_iteration"),
                end_s=timings.get("request_end"),
                output_tokens=told.get("output_tokens"),
                token_source=TokenSource.USAGE,
                first_tokens=1,
            )


def _told(metrics: Mapping[str, Any]) -> Told:
    told: Told = {}
    for ours, theirs in _SUMS.items():
        sums = (metrics.get(theirs) or {}).get("successful") or {}
        flat = dict(sums) | (sums.get("percentiles") or {})
        told[ours] = milliseconds(flat, {"mean": "mean"} | dict(_STATISTICS))
    total = (metrics.get("output_tokens_per_second") or {}).get("successful") or {}
    told["aggregate_tokens_per_s"] = {"mean": total.get("mean")}
    return told
