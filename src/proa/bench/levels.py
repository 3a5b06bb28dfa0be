"""The numbers of one level, from its samples: each success counts once, each failure too."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from proa.bench.arrivals import dispersion
from proa.bench.gauge_stats import (
    GaugeSample,
    GaugeSummary,
    gauges_within,
    gpu_compute_share,
    gpu_memory_share,
)
from proa.bench.health import ClientHealth, Validity, reads_per_event
from proa.bench.percentiles import Summary, summary
from proa.bench.remark import Remark
from proa.bench.sample import RequestSample, TokenSource
from proa.bench.slo import LENGTH_TOLERANCE, SloSpec, attainment, passes
from proa.bench.statistics.margins import in_flight
from proa.bench.token_window import tokens_within
from proa.bench.window import LevelWindow

_DISPERSION_WINDOWS = 50
_HITS_BY_CHANCE = 0.01
_TOLERANCE = 1.1  # lengths asked are not just those that are counted


class LengthCheck(msgspec.Struct, frozen=True):
    """Mean lengths in tokens over the successes that told them; `actual` by usage."""

    asked: float | None
    actual: float | None

    @property
    def is_off(self) -> bool:
        """More than 5 % apart."""
        if not self.asked or self.actual is None:
            return False
        return abs(self.actual - self.asked) > LENGTH_TOLERANCE * self.asked


class CacheStats(msgspec.Struct, frozen=True):
    """The engine's own prefix cache counters over a level; None where it has none.

    `asked_share` of the prompt tokens the workload itself sends again.
    """

    queries: float | None = None
    hits: float | None = None
    asked_share: float = 0.0

    @property
    def hit_share(self) -> float | None:
        if not self.queries or self.hits is None:
            return None
        return self.hits / self.queries


class GpuStats(msgspec.Struct, frozen=True):
    """Shares of the GPU's memory and compute; None where not measured."""

    memory_share: float | None = None
    compute_share: float | None = None


class LevelStats(msgspec.Struct, frozen=True, kw_only=True):
    """One visit of a level. Latencies and speeds are over successes, with failures beside.

    `itl_s` weighs each gap the same (per token), `itl_per_request_s` each request's mean gap.
    `aggregate_tokens_per_s` counts tokens by event time in the window, all requests' alike.
    `verdict` is pass or fail as measured, None without an SLO. `disagreements` are requests
    whose usage and number of events differ by more than 2 and 2 %.
    """

    users: int | None
    rate: float | None
    requests: int
    errors: int
    failures: dict[str, int]
    window_s: float
    ttft_s: Summary
    visible_ttft_s: Summary
    first_byte_s: Summary
    itl_s: Summary
    itl_per_request_s: Summary
    tpot_s: Summary
    e2e_s: Summary
    user_tokens_per_s: Summary
    user_tokens_per_s_e2e: Summary
    scheduled_ttft_s: Summary | None
    scheduled_e2e_s: Summary | None
    aggregate_tokens_per_s: float | None
    attainment: float | None
    verdict: str | None
    input_length: LengthCheck
    output_length: LengthCheck
    reads_per_event: float | None
    dispersion: float | None
    disagreements: int
    counted_by_events: int
    hidden_reasoning: int
    refused_speeds: int
    cache: CacheStats
    gpu: GpuStats
    client: ClientHealth
    warnings: list[Remark]
    gauges: dict[str, dict[str, GaugeSummary]] = {}

    @property
    def error_rate(self) -> float | None:
        """Failures over all requests, as a share."""
        return self.errors / self.requests if self.requests else None


def level_stats(
    samples: Sequence[RequestSample],
    window: LevelWindow,
    client: ClientHealth,
    *,
    slo: SloSpec | None = None,
    cache: CacheStats | None = None,
    gauges: Sequence[GaugeSample] = (),
) -> LevelStats:
    """All numbers of a visit; `samples` are all of it, warm-up and fillers too, `gauges` the run's.

    Raises:
        UpstreamError: the SLO bounds a metric that no success has.
    """
    measured = sorted(
        (s for s in samples if not (s.is_warmup or s.is_filler or s.is_stopped)),
        key=lambda sample: sample.sent_s,
    )
    good = [s for s in measured if s.failure is None]
    failed = len(measured) - len(good)
    is_open = any(s.scheduled_s is not None for s in measured)
    users, rate = (next((getattr(s, name) for s in samples), None) for name in ("users", "rate"))
    together = in_flight(measured, users or rate or 1.0)

    def times(name: str) -> Summary:
        return summary([getattr(s, name) for s in good], failures=failed, together=together)

    def speeds(name: str) -> Summary:
        values = [getattr(s, name) for s in good]
        return summary(values, failures=failed, higher_is_better=True, together=together)

    tokens = tokens_within(samples, start_s=window.start_s, end_s=window.end_s)
    lengths = _length(good, "input"), _length(good, "output")
    cache = cache or CacheStats()
    within = gauges_within(gauges, start_s=window.start_s, end_s=window.end_s)
    return LevelStats(
        users=users,
        rate=rate,
        requests=len(measured),
        errors=failed,
        failures=dict(Counter(str(s.failure) for s in measured if s.failure is not None)),
        window_s=window.duration_s,
        ttft_s=times("ttft_s"),
        visible_ttft_s=times("visible_ttft_s"),
        first_byte_s=times("first_byte_after_s"),
        itl_s=summary([gap for s in good for gap in s.gaps_s], together=together),
        itl_per_request_s=summary([_mean_gap(s) for s in good], failures=failed, together=together),
        tpot_s=times("tpot_s"),
        e2e_s=times("e2e_s"),
        user_tokens_per_s=speeds("user_tokens_per_s"),
        user_tokens_per_s_e2e=speeds("user_tokens_per_s_e2e"),
        scheduled_ttft_s=times("scheduled_ttft_s") if is_open else None,
        scheduled_e2e_s=times("scheduled_e2e_s") if is_open else None,
        aggregate_tokens_per_s=tokens / window.duration_s if window.duration_s > 0 else None,
        attainment=attainment(measured, slo) if slo else None,
        verdict=_verdict(measured, slo),
        input_length=lengths[0],
        output_length=lengths[1],
        reads_per_event=reads_per_event(good),
        dispersion=_dispersion(measured, window) if is_open else None,
        disagreements=sum(map(_disagrees, good)),
        counted_by_events=sum(s.token_source is TokenSource.EVENTS for s in good),
        hidden_reasoning=sum(s.hidden_reasoning for s in good),
        refused_speeds=sum(s.is_impossibly_fast for s in good),
        cache=cache,
        gpu=GpuStats(gpu_memory_share(within), gpu_compute_share(within)),
        client=_with_lengths(client, *lengths),
        warnings=_warnings(good, cache),
        gauges=within,
    )


def _verdict(measured: Sequence[RequestSample], slo: SloSpec | None) -> str | None:
    kept = passes(measured, slo) if slo else None
    return None if kept is None else "pass" if kept else "fail"


def _length(good: Sequence[RequestSample], side: str) -> LengthCheck:
    pairs = [(getattr(s, f"{side}_tokens_asked"), getattr(s, f"{side}_tokens")) for s in good]
    both = [(asked, got) for asked, got in pairs if asked is not None and got is not None]
    if not both:
        return LengthCheck(None, None)
    return LengthCheck(*(sum(column) / len(both) for column in zip(*both, strict=True)))


def _with_lengths(
    client: ClientHealth, asked_in: LengthCheck, asked_out: LengthCheck
) -> ClientHealth:
    """A level whose lengths are not those asked measures another load: suspect at best."""
    reasons = [
        Remark(f"{side}_length", {"actual_tokens": check.actual, "asked_tokens": check.asked})
        for side, check in (("input", asked_in), ("output", asked_out))
        if check.is_off and check.actual is not None and check.asked is not None
    ]
    if not reasons:
        return client
    verdict = Validity.SUSPECT if client.verdict is Validity.VALID else client.verdict
    return msgspec.structs.replace(client, verdict=verdict, reasons=[*client.reasons, *reasons])


def _mean_gap(sample: RequestSample) -> float | None:
    gaps = sample.gaps_s
    return sum(gaps) / len(gaps) if gaps else None


def _disagrees(sample: RequestSample) -> bool:
    if sample.token_source is not TokenSource.USAGE or not sample.events:
        return False
    tokens = sample.output_tokens or 0
    return abs(tokens - len(sample.events)) > max(2.0, 0.02 * tokens)


def _dispersion(measured: Sequence[RequestSample], window: LevelWindow) -> float | None:
    sent = [s.wired_s if s.wired_s is not None else s.sent_s for s in measured]
    return dispersion(sent, window_s=window.duration_s / _DISPERSION_WINDOWS)


def _warnings(good: Sequence[RequestSample], cache: CacheStats) -> list[Remark]:
    told = []
    share, asked = cache.hit_share, cache.asked_share
    if share is not None and share > asked * _TOLERANCE + _HITS_BY_CHANCE:
        told.append(Remark("cache_hits", {"hit_share": share, "asked_share": asked}))
    for code, answers in (
        ("hidden_reasoning", sum(s.hidden_reasoning for s in good)),
        ("refused_speeds", sum(s.is_impossibly_fast for s in good)),
        ("no_usage", sum(s.token_source is TokenSource.EVENTS for s in good)),
    ):
        if answers:
            told.append(Remark(code, {"answers": answers}))
    reads = reads_per_event(good)
    if reads is not None and 0 < reads < 0.5:
        told.append(Remark("bundled", {"events_per_read": 1 / reads}))
    return told
