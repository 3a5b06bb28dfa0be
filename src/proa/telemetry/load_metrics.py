"""What engines say of themselves, as metrics. What an engine does not say has no sample.

The one label that is an engine's word and not the configuration's is its version.
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from proa.domain.fleet import EngineView
from proa.domain.load import CacheView, EngineLoad, EngineLoadView
from proa.telemetry.process import GatewayView

MAX_VERSION_CHARS = 64
Gauge = tuple[str, str, Callable[[EngineLoad], float | None]]
_LOAD_GAUGES: tuple[Gauge, ...] = (
    ("proa_engine_requests_running", "Requests that the engine runs, whoever sent them.",
     lambda load: load.running),
    ("proa_engine_requests_waiting", "Requests that wait inside the engine, whoever sent them.",
     lambda load: load.waiting),
    ("proa_engine_kv_use_ratio", "Share of the engine's KV cache in use, of its fullest part.",
     lambda load: load.kv_use),
    ("proa_engine_kv_tokens", "Tokens that the engine's KV cache holds.",
     lambda load: load.kv_tokens),
    ("proa_engine_prefix_hit_ratio", "Prompt tokens found in the prefix cache, of those asked for.",
     lambda load: load.prefix_hit_rate),
)  # fmt: skip
_CACHE_TOTALS: tuple[tuple[str, str, Callable[[CacheView], int]], ...] = (
    ("proa_engine_evicted_tokens", "Tokens that left the engine's prefix cache.",
     lambda cache: cache.evicted_tokens_total),
    ("proa_engine_cache_clears", "Times that the engine's whole prefix cache went.",
     lambda cache: cache.cleared_total),
    ("proa_engine_kv_events_losses", "Times that KV events of the engine were lost.",
     lambda cache: cache.lost_total),
)  # fmt: skip


def load_metrics(view: GatewayView) -> Iterator[Metric]:
    """Metrics of the engines' loads and facts."""
    loads = {engine.name: engine for engine in view.loads.engines}
    for name, text, value in _LOAD_GAUGES:
        yield _gauge(name, text, loads, _of_load(value))
    yield _gauge("proa_engine_load_age_seconds", "Time since the engine told its load.", loads,
                 _of_load(lambda load: max(0.0, view.now_s - load.at_s)))  # fmt: skip
    yield _gauge("proa_engine_foreign_requests", "Requests in the engine that are not proa's.",
                 loads, lambda e: e.foreign if counts_requests(e) else None)  # fmt: skip
    yield _gauge("proa_engine_max_concurrent_requests",
                 "Requests that the engine gets at one time.", loads,
                 lambda e: e.max_concurrent)  # fmt: skip
    preemptions = CounterMetricFamily(
        "proa_engine_preemptions", "Requests that the engine put back for lack of KV cache.",
        labels=["engine"],
    )  # fmt: skip
    for name, engine in loads.items():
        if engine.load is not None and engine.load.preemptions_total is not None:
            preemptions.add_metric([name], engine.load.preemptions_total)
    yield preemptions
    yield from _caches(loads)
    yield from _facts(view)


def _caches(loads: dict[str, EngineLoadView]) -> Iterator[Metric]:
    """What engines with a feed of KV events told."""
    yield _gauge("proa_engine_cached_tokens", "Tokens in the engine's prefix cache.", loads,
                 lambda e: None if e.cache is None else e.cache.cached_tokens)  # fmt: skip
    for name, text, value in _CACHE_TOTALS:
        family = CounterMetricFamily(name, text, labels=["engine"])
        for engine, load in loads.items():
            if load.cache is not None:
                family.add_metric([engine], value(load.cache))
        yield family


def counts_requests(engine: EngineLoadView) -> bool:
    """Whether the engine tells how many requests it has: else nothing is known of others'."""
    load = engine.load
    return load is not None and (load.running is not None or load.waiting is not None)


def _facts(view: GatewayView) -> Iterator[Metric]:
    context = GaugeMetricFamily(
        "proa_engine_context_tokens", "The longest context that a model of the engine takes.",
        labels=["engine"],
    )  # fmt: skip
    adapters = GaugeMetricFamily(
        "proa_engine_adapters", "LoRA adapters that the engine has loaded.", labels=["engine"]
    )
    info = GaugeMetricFamily(
        "proa_engine_info", "Always 1: what the engine is.", labels=["engine", "kind", "version"]
    )
    for engine in view.fleet.engines:
        longest = longest_context(engine)
        if longest is not None:
            context.add_metric([engine.name], longest)
        if engine.adapters is not None:
            adapters.add_metric([engine.name], len(engine.adapters))
        version = engine.version[:MAX_VERSION_CHARS]
        info.add_metric([engine.name, engine.kind.value, version], 1)
    yield from (context, adapters, info)


def longest_context(engine: EngineView) -> int | None:
    """Tokens of the longest context of an engine's models, None when it tells none."""
    known = [model.context_tokens for model in engine.models if model.context_tokens is not None]
    return max(known, default=None)


def _of_load(
    value: Callable[[EngineLoad], float | None],
) -> Callable[[EngineLoadView], float | None]:
    return lambda engine: None if engine.load is None else value(engine.load)


def _gauge(
    name: str,
    text: str,
    loads: dict[str, EngineLoadView],
    value: Callable[[EngineLoadView], float | None],
) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["engine"])
    for engine, load in loads.items():
        known = value(load)
        if known is not None:
            family.add_metric([engine], known)
    return family
