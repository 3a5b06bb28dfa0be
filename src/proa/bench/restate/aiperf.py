"""aiperf: `profile_export.jsonl`, a record per request, or `profile_export_aiperf.json`, its sums.

Source: files of aiperf 0.13.0, docs/metrics_reference.md. Its inter-token latency is
(last content - TTFT) / (tokens - 1), our TPOT, with tokens counted by a tokenizer of its own;
the gaps themselves are its inter-chunk latency.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from proa.bench.restate.restated import Restated, Told, aligned, seconds, wanted
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource

_MS, _NS = 1e-3, 1e-9
_SUMS = {
    "ttft_s": "time_to_first_token",
    "tpot_s": "inter_token_latency",
    "itl_s": "inter_chunk_latency",
    "e2e_s": "request_latency",
}
_STATISTICS = {"mean": "avg", "p50": "p50", "p95": "p95", "p99": "p99"}


def is_sums(found: Any) -> bool:
    """Whether an object is the file of sums."""
    return isinstance(found, Mapping) and "aiperf_version" in found


def is_record(found: Any) -> bool:
    """Whether an object is one record."""
    return isinstance(found, Mapping) and {"metadata", "metrics"} <= found.keys()


def read_sums(found: Mapping[str, Any], where: str) -> list[Restated]:
    """Only what it printed: sums cannot be restated."""
    del where
    told: Told = {}
    for ours, theirs in _SUMS.items():
        if theirs in found:
            sums = found[theirs]
            told[ours] = {name: seconds(sums.get(key)) for name, key in _STATISTICS.items()}
    total = found.get("output_token_throughput") or {}
    told["aggregate_tokens_per_s"] = {"mean": total.get("avg")}
    return [
        Restated(
            tool="aiperf",
            version=str(found["aiperf_version"]),
            model=_model(found),
            told=told,
            notes=["itl_is_tpot", "own_tokenizer"],
            lost=["only_sums"],
        )
    ]


def read_records(records: Sequence[Mapping[str, Any]], where: str) -> list[Restated]:
    """Raises InputError: a record has another form."""
    profiled = [
        record for record in records
        if record["metadata"].get("benchmark_phase", "profiling") == "profiling"
    ]  # fmt: skip
    zero_ns = min((_start_ns(record, where) for record in profiled), default=0)
    samples = [
        _sample(number, record, (_start_ns(record, where) - zero_ns) * _NS)
        for number, record in enumerate(profiled)
    ]
    own = [_value(r, "output_sequence_length") for r in profiled]
    usage = [_value(r, "usage_completion_tokens") for r in profiled]
    differs = any(a != b for a, b in zip(own, usage, strict=True) if None not in (a, b))
    lost = ["first_tokens", "client", "stream_end"]
    if any(value is None for value in usage):
        lost.append("usage")
    return [
        Restated(
            tool="aiperf",
            samples=aligned(samples) if samples else [],
            told=_told(profiled),
            notes=["itl_is_tpot", *(["own_tokenizer"] if differs else []), "end_is_last_content"],
            lost=lost,
        )
    ]


def _start_ns(record: Mapping[str, Any], where: str) -> int:
    """Whole nanoseconds of the wall clock, more than a float holds."""
    return int(wanted(record["metadata"], "request_start_ns", where))


def _sample(number: int, record: Mapping[str, Any], sent_s: float) -> RequestSample:
    common: dict[str, Any] = {
        "number": number, "target": "aiperf", "level": 0, "user": 0, "sent_s": sent_s,
        "input_tokens": _whole(_value(record, "usage_prompt_tokens")),
    }  # fmt: skip
    ttft_ms, latency_ms = _value(record, "time_to_first_token"), _value(record, "request_latency")
    if record.get("error") or latency_ms is None:
        text = str(record.get("error") or "")[:300]
        return RequestSample(**common, failure=Failure.STATUS, failure_text=text)
    end_s = sent_s + latency_ms * _MS
    usage = _whole(_value(record, "usage_completion_tokens"))
    own = _whole(_value(record, "output_sequence_length"))
    times: list[float] = []
    if ttft_ms is not None:
        gaps = [gap * _MS for gap in _value(record, "inter_chunk_latency") or ()]
        times = list(accumulate(gaps, initial=sent_s + ttft_ms * _MS))
    return RequestSample(
        **common,
        first_content_s=times[0] if times else None,
        last_content_s=times[-1] if times else None,
        end_s=end_s,
        output_tokens=own if usage is None else usage,
        token_source=TokenSource.EVENTS if usage is None else TokenSource.USAGE,
        first_tokens=1,
        reads=len(times),
        events=tuple(ContentEvent(at_s, 1, n) for n, at_s in enumerate(times)),
    )


def _told(records: Sequence[Mapping[str, Any]]) -> Told:
    """Its own means; percentiles are in its other file."""
    told: Told = {}
    for ours, theirs in _SUMS.items():
        values = [_value(record, theirs) for record in records]
        flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
        known = [value for value in flat if value is not None]
        if known:
            told[ours] = {"mean": sum(known) / len(known) * _MS}
    return told


def _value(record: Mapping[str, Any], name: str) -> Any:
    metric = record["metrics"].get(name)
    return metric.get("value") if isinstance(metric, Mapping) else metric


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _model(found: Mapping[str, Any]) -> str:
    models = ((found.get("input_config") or {}).get("models") or {}).get("items") or []
    return ", ".join(str(model.get("name", "")) for model in models)
