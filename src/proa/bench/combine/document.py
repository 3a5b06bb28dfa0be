"""A combination as the JSON that other programs read; its keys stay."""

from typing import Any

import msgspec

from proa.bench.combine.gain import GainStats, Verdict
from proa.bench.combine.run import CombineResult
from proa.bench.combine.sites import SiteStats, Spread, spread
from proa.bench.combine.spec import PARTS
from proa.bench.health import worst
from proa.bench.remark import each_once
from proa.bench.target import shown_address


def document(
    result: CombineResult, stats: GainStats, sites: list[SiteStats], verdict: Verdict
) -> dict[str, Any]:
    """Speeds are tokens per second, gains are ratios; null is "not measured"."""
    start, spec = result.start, result.start.spec
    clients = [block.stats.client for block in result.blocks]
    return {
        "verdict": str(verdict),
        "gain": {
            "over_main": msgspec.to_builtins(stats.over_main),
            "of_sum": msgspec.to_builtins(stats.of_sum),
            "least_asked": spec.min_gain,
        },
        "parts": [
            msgspec.to_builtins(part) | {"error_rate": part.error_rate} for part in stats.parts
        ],
        "sites": [msgspec.to_builtins(site) | {"error_rate": site.error_rate} for site in sites],
        "spread": msgspec.to_builtins(spreads(sites)),
        "blocks": [
            {"round": block.round, "part": PARTS[block.part], "tokens_per_s": block.tokens_per_s}
            | {"client": str(block.stats.client.verdict)}
            for block in result.blocks
        ],
        "client": {
            "verdict": str(worst(client.verdict for client in clients)),
            "reasons": msgspec.to_builtins(
                each_once(r for client in clients for r in client.reasons)
            ),
            "self_check": msgspec.to_builtins(start.check),
        },
        "stopped": "interrupted" if result.end.is_interrupted else None,
        "conditions": {
            "proa": start.proa,
            "started_unix_s": start.origin_unix_s,
            "took_s": result.end.took_s,
            "seed": spec.seed,
            "rounds": spec.rounds,
            "sites": spec.sites,
            "warmup_s": spec.warmup_s,
            "duration_s": spec.duration_s,
            "input_tokens": msgspec.to_builtins(spec.workload.input),
            "output_tokens": msgspec.to_builtins(spec.workload.output),
            "targets": [
                {"name": name, "url": shown_address(load.target), "model": load.target.model}
                | {"users": users}
                for name, load, users in zip(PARTS, start.targets, spec.users, strict=True)
            ],
        },
    }


def spreads(sites: list[SiteStats]) -> list[Spread]:
    """One for each part."""
    return [spread(sites, part) for part in PARTS]
