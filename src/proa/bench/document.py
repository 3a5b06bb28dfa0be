"""A run as the JSON that other programs read; its keys stay."""

from typing import Any

import msgspec

from proa.bench.conditions import prompts_hash
from proa.bench.health import worst
from proa.bench.level_search import boundary_of_run, drift_of_run, hinge_of_run
from proa.bench.limits import reasons_of
from proa.bench.remark import each_once
from proa.bench.run import LevelVisit, RunResult
from proa.bench.run_spec import RunSpec
from proa.bench.statistics.boundary import Boundary

SCHEMA = 1
"""Of the document; a number that goes up when a key changes its meaning."""


def document(result: RunResult) -> dict[str, Any]:
    """`levels` in the order of the visits; `boundary` and `hinge` null where too little is known.

    Raises:
        UpstreamError: no success had a metric that the SLO bounds.
    """
    drift = drift_of_run(result.visits)
    return {
        "schema": SCHEMA,
        "levels": [_level(visit) for visit in result.visits],
        "boundary": _boundary(boundary_of_run(result.spec, result.visits), result.spec),
        "hinge": msgspec.to_builtins(hinge_of_run(result.visits)),
        "reasons": msgspec.to_builtins(reasons_of(result.visits, result.spec.slo)),
        "client": _client(result),
        "drift": result.drift,
        "drift_interval": None if drift is None else [drift.low, drift.high],
        "stopped": None if result.stopped is None else str(result.stopped),
        "conditions": _conditions(result),
    }


def _boundary(found: Boundary | None, spec: RunSpec) -> dict[str, Any] | None:
    """Of users or of rates; whole numbers are written as such."""
    if found is None:
        return None
    told: dict[str, Any] = msgspec.to_builtins(found)
    loads = ("passes", "fails", "estimate", "low", "high")
    whole = {key: int(told[key]) for key in loads if told[key] is not None and told[key] % 1 == 0}
    return told | whole | {"of": "rate" if spec.rates else "users"}


def _level(visit: LevelVisit) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(visit.stats)
    return told | {
        "visit": visit.result.label.level,
        "error_rate": visit.stats.error_rate,
        "cause": str(visit.result.window.cause),
        "cache": told["cache"] | {"hit_share": visit.stats.cache.hit_share},
    }


def _client(result: RunResult) -> dict[str, Any]:
    """The worst verdict of all levels; a bad self-check alone makes no level invalid."""
    verdicts = [visit.stats.client.verdict for visit in result.visits]
    reasons = each_once(r for visit in result.visits for r in visit.stats.client.reasons)
    check = None if result.check is None else msgspec.to_builtins(result.check)
    return {
        "verdict": str(worst(verdicts)),
        "reasons": msgspec.to_builtins(reasons),
        "self_check": check,
    }


def _conditions(result: RunResult) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(result.start.conditions)
    samples = (sample for visit in result.visits for sample in visit.result.samples)
    asked: dict[str, Any] = told.pop("asked")
    return asked | told | {"prompts_hash": prompts_hash(samples)}
