"""What an engine says of itself around a level: its prefix cache, and its load."""

import time

from proa.bench.ask import get
from proa.bench.levels import CacheStats
from proa.bench.target import TargetSpec
from proa.domain.load import EngineLoad
from proa.engines import llamacpp, sglang, tgi, vllm
from proa.engines.sources import ReadLoad

_READERS: tuple[ReadLoad, ...] = (
    vllm.read_metrics,
    sglang.read_metrics,
    llamacpp.read_metrics,
    tgi.read_metrics,
)


async def read_engine(target: TargetSpec) -> EngineLoad | None:
    """The engine's metrics page, of whatever kind it is; None where there is none."""
    asked = target
    if target.metrics_url:
        asked = TargetSpec(name=target.name, url=target.metrics_url.removesuffix("/metrics"))
    try:
        status, page = await get(asked, "/metrics", timeout_s=2.0)
    except OSError:
        return None
    at_s = time.monotonic()
    loads = (read(page, at_s) for read in _READERS) if status == 200 else ()
    return next((load for load in loads if load is not None), None)


def cache_between(before: EngineLoad | None, after: EngineLoad | None) -> CacheStats:
    """The rise of the prefix cache counters; None where one is missing or began anew."""
    if before is None or after is None:
        return CacheStats()
    return CacheStats(
        queries=_rise(before.prefix_queries_total, after.prefix_queries_total),
        hits=_rise(before.prefix_hits_total, after.prefix_hits_total),
    )


def _rise(before: float | None, after: float | None) -> float | None:
    if before is None or after is None or after < before:
        return None
    return after - before
