"""A comparison of quality as the JSON that other programs read; its keys stay."""

from typing import Any

import msgspec

from proa.bench.quality.run import QualityResult
from proa.bench.quality.verdict import QualityStats
from proa.bench.target import shown_address


def document(result: QualityResult, stats: QualityStats) -> dict[str, Any]:
    """Shares are from 0 to 1; null is "not measured". Answers are in the file of --out."""
    start = result.start
    told: dict[str, Any] = msgspec.to_builtins(stats)
    return told | {
        "margin": start.spec.margin,
        "cases": len(start.cases),
        "stopped": "interrupted" if result.end.is_interrupted else None,
        "conditions": {
            "proa": start.proa,
            "started_unix_s": start.origin_unix_s,
            "took_s": result.end.took_s,
            "temperature": 0,
            "users": start.spec.users,
            "targets": [
                {"name": target.name, "url": shown_address(target), "model": target.model}
                for target in start.targets
            ],
        },
    }
