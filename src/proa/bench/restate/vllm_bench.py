"""`vllm bench serve --save-result --save-detailed`: one JSON object.

Source: vllm/benchmarks/serve.py and lib/endpoint_request_func.py of vLLM 0.32.0. TTFT is stamped
on the first chunk with choices, which with the chat API has the role and no token; the answer
ends with the last chunk. Output lengths are the engine's usage where it told one.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from proa.bench.restate.restated import Restated, Told, aligned, column, milliseconds, wanted
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource

_SUMS = {"ttft_s": "ttft", "tpot_s": "tpot", "itl_s": "itl", "e2e_s": "e2el"}
_LISTS = ("ttfts", "itls", "output_lens")


def is_vllm(found: Any) -> bool:
    """Whether an object is such a file."""
    return isinstance(found, Mapping) and {"mean_ttft_ms", "total_output_tokens"} <= found.keys()


def read_vllm(found: Mapping[str, Any], where: str) -> list[Restated]:
    """Raises InputError: a key is missing or has another form."""
    notes, lost = ["percentiles", "last_chunk"], ["stream_end", "client", "schedule", "warm_up"]
    samples: list[RequestSample] = []
    is_chat = "chat" in str(found.get("endpoint_type") or found.get("backend") or "")
    if all(name in found for name in _LISTS):
        samples = _samples(found, where, is_chat)
        if is_chat:
            notes.append("role_chunk" if _has_role_chunks(found) else "role_chunk_unknown")
        lost += ["first_tokens"] if not _is_token_each(found) else []
        lost += [] if "start_times" in found else ["times"]
    else:
        lost.append("not_detailed")
    return [
        Restated(
            tool="vllm bench serve",
            model=str(found.get("model_id", "")),
            users=found.get("max_concurrency"),
            rate=_rate(found.get("request_rate")),
            samples=aligned(samples) if samples else [],
            told=_told(found),
            notes=notes,
            lost=lost,
            duration_s=found.get("duration"),
        )
    ]


def _samples(found: Mapping[str, Any], where: str, is_chat: bool) -> list[RequestSample]:
    count = len(wanted(found, "ttfts", where))
    ttfts, gaps = column(found, "ttfts", count, where), column(found, "itls", count, where)
    lengths = column(found, "output_lens", count, where)
    inputs = found.get("input_lens") or [None] * count
    starts = found.get("start_times") or [0.0] * count
    errors = found.get("errors") or [""] * count
    made = []
    for number in range(count):
        sent_s = float(starts[number])
        common = {
            "number": number, "target": "vllm bench serve", "level": 0, "user": 0,
            "users": found.get("max_concurrency"), "sent_s": sent_s,
            "input_tokens": inputs[number],
        }  # fmt: skip
        if errors[number] or not ttfts[number]:
            text = str(errors[number])[:300]
            made.append(RequestSample(**common, failure=Failure.STATUS, failure_text=text))
            continue
        times = list(accumulate(gaps[number], initial=sent_s + ttfts[number]))
        if is_chat and len(times) > lengths[number]:
            times = times[1:] or times
        made.append(
            RequestSample(
                **common,
                first_content_s=times[0],
                last_content_s=times[-1],
                end_s=times[-1],
                output_tokens=lengths[number],
                token_source=TokenSource.USAGE,
                first_tokens=1,
                reads=len(times),
                events=tuple(ContentEvent(at_s, 1, n) for n, at_s in enumerate(times)),
            )
        )
    return made


def _has_role_chunks(found: Mapping[str, Any]) -> bool:
    """More chunks than tokens: the first one holds none."""
    pairs = list(zip(found["itls"], found["output_lens"], strict=False))
    return any(n for _, n in pairs) and all(len(gaps) + 1 > n for gaps, n in pairs if n)


def _is_token_each(found: Mapping[str, Any]) -> bool:
    pairs = zip(found["itls"], found["output_lens"], strict=False)
    return all(not tokens or len(gaps) + 1 >= tokens for gaps, tokens in pairs)


def _rate(told: Any) -> float | None:
    """`inf` is a closed loop, or all at once."""
    return None if told in (None, "inf") else float(told)


def _told(found: Mapping[str, Any]) -> Told:
    told: Told = {}
    for ours, theirs in (
        ("ttft_s", "ttft"),
        ("tpot_s", "tpot"),
        ("itl_s", "itl"),
        ("e2e_s", "e2el"),
    ):
        names = {"mean": f"mean_{theirs}_ms", "p50": f"median_{theirs}_ms"}
        names |= {"p95": f"p95_{theirs}_ms", "p99": f"p99_{theirs}_ms"}
        if names["mean"] in found:
            told[ours] = milliseconds(found, names)
    told["aggregate_tokens_per_s"] = {"mean": found.get("output_throughput")}
    return told
