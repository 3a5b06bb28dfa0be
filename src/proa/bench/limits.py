"""Why the boundary is where it is: rules over what engine, GPU and client told beside the load.

A rule holds or not; what it goes by is told as evidence. Several may hold: the order below is
from what explains most to what explains least. Thresholds are round numbers, no statistics.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from proa.bench.gauge_stats import GPU, GaugeSummary
from proa.bench.health import Validity
from proa.bench.level_search import load_of
from proa.bench.run import LevelVisit
from proa.bench.slo import Bound, SloSpec

FULL = 0.95
"""A share of KV cache, power or compute that counts as all of it."""
_QUEUE = 0.5  # requests that wait on average
_QUEUE_SHARE = 0.05  # and that as a share of the load
_LONG_STEPS = 3.0  # P99 of the gaps over their median
_SLOWER = 1.1  # TPOT over that of the lowest load
_FAILURES = 0.05


class Limit(StrEnum):
    """What keeps the endpoint from serving more."""

    CLIENT = "client"
    ERRORS = "errors"
    KV_FULL = "kv_full"
    BATCH_CAP = "batch_cap"
    POWER = "power"
    COMPUTE = "compute"
    PREFILL = "prefill"
    STEP_TIME = "step_time"
    LOWEST = "lowest"
    UNKNOWN = "unknown"


class Reason(msgspec.Struct, frozen=True):
    """A rule that holds for a visit, and the numbers it goes by (None: not told)."""

    limit: Limit
    visit: int
    users: int | None
    rate: float | None
    is_over: bool
    """Whether the visit did not keep its SLO; else it is the highest load that was tried."""
    evidence: dict[str, float | None]


_CAPS = (Limit.KV_FULL, Limit.BATCH_CAP, Limit.POWER, Limit.COMPUTE)
"""Beside one of these, longer steps need no mention."""
Evidence = dict[str, float | None]


def reasons_of(visits: Sequence[LevelVisit], slo: SloSpec | None) -> list[Reason]:
    """What holds at the lowest load that failed, or at the highest one; most telling first."""
    measured = [visit for visit in visits if visit.stats.requests]
    if not measured:
        return []
    failed = [visit for visit in measured if visit.stats.verdict == "fail"]
    at = (
        min(failed, key=lambda visit: load_of(visit.level))
        if failed
        else max(measured, key=lambda visit: load_of(visit.level))
    )
    lowest = min(measured, key=lambda visit: load_of(visit.level))
    found = list(_held(at, lowest, slo))
    if not found:
        found = [(Limit.LOWEST if failed and at is lowest else Limit.UNKNOWN, {})]
    return [
        Reason(limit, at.result.label.level, at.level.users, at.level.rate, bool(failed), evidence)
        for limit, evidence in found
    ]


def _held(
    at: LevelVisit, lowest: LevelVisit, slo: SloSpec | None
) -> Iterator[tuple[Limit, Evidence]]:
    rules: list[tuple[Limit, Callable[[], Evidence | None]]] = [
        (Limit.CLIENT, lambda: _client(at)),
        (Limit.ERRORS, lambda: _errors(at)),
        (Limit.KV_FULL, lambda: _kv_full(at)),
        (Limit.BATCH_CAP, lambda: _batch_cap(at)),
        (Limit.POWER, lambda: _gpu_at_limit(at, "power_w", "power_limit_w")),
        (Limit.COMPUTE, lambda: _compute(at)),
        (Limit.PREFILL, lambda: _prefill(at, slo)),
        (Limit.STEP_TIME, lambda: _step_time(at, lowest)),
    ]
    caps = 0
    for limit, rule in rules:
        evidence = rule()
        if evidence is not None and not (limit is Limit.STEP_TIME and caps):
            caps += limit in _CAPS
            yield limit, evidence


def _client(at: LevelVisit) -> Evidence | None:
    client = at.stats.client
    if client.verdict is not Validity.INVALID:
        return None
    return {"stamp_delay_p99_s": client.stamp_delay_p99_s, "cpu_share": client.cpu_share}


def _errors(at: LevelVisit) -> Evidence | None:
    rate = at.stats.error_rate
    return {"error_rate": rate} if rate is not None and rate > _FAILURES else None


def _kv_full(at: LevelVisit) -> Evidence | None:
    """Full, and somebody waits for it; or requests were thrown out to make room."""
    for told in _engines(at):
        preempted = _rise(told, "preemptions_total")
        full = "kv_use" in told and told["kv_use"].most >= FULL
        if (full and _is_queue(told, at)) or preempted:
            return {
                "kv_use_most": told["kv_use"].most if "kv_use" in told else None,
                "waiting_mean": _waiting(told),
                "preemptions": preempted,
            }
    return None


def _batch_cap(at: LevelVisit) -> Evidence | None:
    """Requests wait while the KV cache has room: the engine runs no more at one time."""
    for told in _engines(at):
        waiting = _waiting(told)
        roomy = "kv_use" not in told or told["kv_use"].most < FULL
        if _is_queue(told, at) and roomy and "running" in told:
            return {
                "running_most": told["running"].most,
                "waiting_mean": waiting,
                "kv_use_most": told["kv_use"].most if "kv_use" in told else None,
            }
    return None


def _gpu_at_limit(at: LevelVisit, name: str, limit: str) -> Evidence | None:
    for told in _gpus(at):
        if name in told and limit in told and told[name].mean >= FULL * told[limit].mean:
            return {name: told[name].mean, limit: told[limit].mean}
    return None


def _compute(at: LevelVisit) -> Evidence | None:
    """Only by busy multiprocessors: that some kernel runs says nothing of how full it is."""
    for told in _gpus(at):
        if "sm_share" in told and told["sm_share"].mean >= FULL:
            return {"sm_share": told["sm_share"].mean}
    return None


def _prefill(at: LevelVisit, slo: SloSpec | None) -> Evidence | None:
    """Nobody waits in a queue, and yet first tokens are late or single steps are long."""
    stats = at.stats
    if any(_is_queue(told, at) for told in _engines(at)):
        return None
    median, high = stats.itl_s.p50, stats.itl_s.p99
    long_steps = median is not None and high is not None and high > _LONG_STEPS * median
    late = slo is not None and _misses(at, slo, "ttft_s") > max(
        1 - slo.attainment, _misses(at, slo, "user_tokens_per_s")
    )
    if not (late or long_steps):
        return None
    return {"ttft_p50_s": stats.ttft_s.p50, "itl_p50_s": median, "itl_p99_s": high}


def _step_time(at: LevelVisit, lowest: LevelVisit) -> Evidence | None:
    """Each step takes longer the more requests are in it, without any cap that was reached."""
    here, there = at.stats.tpot_s.p50, lowest.stats.tpot_s.p50
    if at is lowest or not here or not there or here < _SLOWER * there:
        return None
    users = lowest.level.users
    return {
        "tpot_p50_s": here,
        "lowest_tpot_p50_s": there,
        "lowest_users": None if users is None else float(users),
    }


def _misses(at: LevelVisit, slo: SloSpec, metric: str) -> float:
    """Share of the measured requests that do not keep the SLO's bounds of a metric."""
    bounds = [bound for bound in slo.bounds if bound.metric == metric]
    samples = [s for s in at.result.samples if not (s.is_warmup or s.is_filler or s.is_stopped)]
    if not bounds or not samples:
        return 0.0
    return sum(not _kept(getattr(s, metric), bounds) for s in samples) / len(samples)


def _kept(value: float | None, bounds: Sequence[Bound]) -> bool:
    return value is not None and all(bound.holds(value) for bound in bounds)


def _engines(at: LevelVisit) -> list[Mapping[str, GaugeSummary]]:
    return [told for source, told in at.stats.gauges.items() if not source.startswith(GPU)]


def _gpus(at: LevelVisit) -> list[Mapping[str, GaugeSummary]]:
    return [told for source, told in at.stats.gauges.items() if source.startswith(GPU)]


def _waiting(told: Mapping[str, GaugeSummary]) -> float | None:
    return told["waiting"].mean if "waiting" in told else None


def _is_queue(told: Mapping[str, GaugeSummary], at: LevelVisit) -> bool:
    """Whether more wait than what comes and goes between two steps."""
    return (_waiting(told) or 0.0) >= max(_QUEUE, _QUEUE_SHARE * (at.level.users or 0))


def _rise(told: Mapping[str, GaugeSummary], name: str) -> float | None:
    return told[name].rise if name in told else None
