"""A comparison as the JSON that other programs read; its keys stay. Times are seconds."""

from typing import Any

import msgspec

from proa.bench.compare.run import CompareResult
from proa.bench.compare.verdict import CompareStats
from proa.bench.target import shown_address


def document(result: CompareResult, stats: CompareStats) -> dict[str, Any]:
    """Shifts are gateway minus direct; null is "not measured", or too few pairs."""
    spec, end = result.start.spec, result.end
    told: dict[str, Any] = {
        "verdict": str(stats.verdict),
        "pairs": stats.pairs,
        "shift": {
            "ttft_s": msgspec.to_builtins(stats.ttft_s),
            "tpot_s": msgspec.to_builtins(stats.tpot_s),
        },
        "lengths": msgspec.to_builtins(stats.lengths),
        "regression": msgspec.to_builtins(stats.line),
        "margins": msgspec.to_builtins(stats.margins),
        "buffering": msgspec.to_builtins(stats.buffering),
        "order_shift_s": msgspec.to_builtins(stats.order_s),
        "unequal_lengths": stats.unequal_lengths,
        "stopped": str(end.stopped),
        "took_s": end.took_s,
        "client": {"runqueue_share": end.runqueue_share},
    }
    return told | {
        "conditions": {
            "proa": result.start.proa,
            "started_unix_s": result.start.origin_unix_s,
            "seed": spec.seed,
            "input_tokens": msgspec.to_builtins(spec.input),
            "language": str(spec.language),
            "forces_length": all(load.body.force for load in result.start.targets),
            "targets": [
                {
                    "name": load.target.name,
                    "url": shown_address(load.target),
                    "model": load.target.model,
                    "path": load.target.path,
                    "reopened_connections": reopened,
                }
                for load, reopened in zip(result.start.targets, end.reopened, strict=True)
            ],
        }
    }
