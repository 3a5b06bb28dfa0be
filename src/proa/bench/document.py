"""A run as the JSON that other programs read; its keys stay."""

from typing import Any

import msgspec

import proa
from proa.bench.health import worst
from proa.bench.run import LevelVisit, RunResult
from proa.bench.slo import SloSpec


def document(result: RunResult) -> dict[str, Any]:
    """`levels` in the order of the visits, `boundary` and `hinge` null until they are fitted."""
    return {
        "levels": [_level(visit) for visit in result.visits],
        "boundary": None,
        "hinge": None,
        "client": _client(result),
        "drift": result.drift,
        "stopped": None if result.stopped is None else str(result.stopped),
        "conditions": _conditions(result),
    }


def _level(visit: LevelVisit) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(visit.stats)
    cache = visit.stats.cache
    return told | {
        "visit": visit.result.label.level,
        "error_rate": visit.stats.error_rate,
        "cause": str(visit.result.window.cause),
        "cache": {"queries": cache.queries, "hits": cache.hits, "hit_share": cache.hit_share},
    }


def _client(result: RunResult) -> dict[str, Any]:
    """The worst verdict of all levels; a bad self-check alone makes no level invalid."""
    verdicts = [visit.stats.client.verdict for visit in result.visits]
    reasons = dict.fromkeys(r for visit in result.visits for r in visit.stats.client.reasons)
    check = None if result.check is None else msgspec.to_builtins(result.check)
    return {"verdict": str(worst(verdicts)), "reasons": list(reasons), "self_check": check}


def _conditions(result: RunResult) -> dict[str, Any]:
    spec = result.spec
    workload = msgspec.to_builtins(spec.workload)
    rows = {name: len(workload.pop(name)) for name in ("dataset", "trace")}
    return {
        "proa": proa.__version__,
        "started_unix_s": result.origin_unix_s,
        "seed": spec.seed,
        "order": str(spec.order),
        "window": msgspec.to_builtins(spec.window),
        "slo": _slo(spec.slo),
        "workload": workload | {f"{name}_rows": count for name, count in rows.items()},
        "targets": [
            {
                "name": load.target.name,
                "url": load.target.url.rpartition("@")[2]
                if "@" in load.target.url
                else load.target.url,
                "model": load.target.model,
                "path": load.target.path,
                "tokens_per_word": load.scale.per_word if load.scale.is_measured else None,
                "forces_length": load.body.force,
                "asks_usage": load.body.usage,
            }
            for load in result.targets
        ],
    }


def _slo(slo: SloSpec | None) -> dict[str, Any] | None:
    if slo is None:
        return None
    bounds = [f"{b.metric}{'>=' if b.at_least else '<='}{b.value:g}" for b in slo.bounds]
    if slo.error_rate is not None:
        bounds.append(f"error_rate<={slo.error_rate:g}")
    return {"bounds": bounds, "attainment": slo.attainment, "rule": str(slo.rule)}
