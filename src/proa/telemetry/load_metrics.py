"""What engines say of themselves, as metrics. What an engine does not say has no sample.

The one label that is an engine's word and not the configuration's is its version.
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from proa.domain.fleet import EngineView
from proa.domain.load import CacheView, EngineLoad, EngineLoadView
from proa.telemetry.families import engine_counter, engine_gauge
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
    engines = {engine.name: engine for engine in view.loads.engines}
    loads = {name: e.load for name, e in engines.items() if e.load is not None}
    for name, text, value in _LOAD_GAUGES:
        yield engine_gauge(name, text, loads, value)
    yield engine_gauge("proa_engine_load_age_seconds", "Time since the engine told its load.",
                       loads, lambda load: max(0.0, view.now_s - load.at_s))  # fmt: skip
    yield engine_gauge("proa_engine_foreign_requests",
                       "Requests in the engine that are not proa's.", engines,
                       lambda e: e.foreign if counts_requests(e) else None)  # fmt: skip
    yield engine_gauge("proa_engine_max_concurrent_requests",
                       "Requests that the engine gets at one time.",
                       engines, lambda e: e.max_concurrent)  # fmt: skip
    yield engine_counter("proa_engine_preemptions",
                         "Requests that the engine put back for lack of KV cache.",
                         loads, lambda load: load.preemptions_total)  # fmt: skip
    yield from _caches(engines)
    yield from _facts(view)


def _caches(engines: dict[str, EngineLoadView]) -> Iterator[Metric]:
    """What engines with a feed of KV events told."""
    caches = {name: e.cache for name, e in engines.items() if e.cache is not None}
    yield engine_gauge("proa_engine_cached_tokens", "Tokens in the engine's prefix cache.",
                       caches, lambda cache: cache.cached_tokens)  # fmt: skip
    for name, text, value in _CACHE_TOTALS:
        yield engine_counter(name, text, caches, value)


def counts_requests(engine: EngineLoadView) -> bool:
    """Whether the engine tells how many requests it has: else nothing is known of others'."""
    load = engine.load
    return load is not None and (load.running is not None or load.waiting is not None)


def _facts(view: GatewayView) -> Iterator[Metric]:
    engines = {engine.name: engine for engine in view.fleet.engines}
    yield engine_gauge("proa_engine_context_tokens",
                       "The longest context that a model of the engine takes.",
                       engines, longest_context)  # fmt: skip
    yield engine_gauge("proa_engine_adapters", "LoRA adapters that the engine has loaded.",
                       engines, lambda e: None if e.adapters is None else len(e.adapters),
                       )  # fmt: skip
    info = GaugeMetricFamily(
        "proa_engine_info", "Always 1: what the engine is.", labels=["engine", "kind", "version"]
    )
    for engine in view.fleet.engines:
        version = engine.version[:MAX_VERSION_CHARS]
        info.add_metric([engine.name, engine.kind.value, version], 1)
    yield info


def longest_context(engine: EngineView) -> int | None:
    """Tokens of the longest context of an engine's models, None when it tells none."""
    known = [model.context_tokens for model in engine.models if model.context_tokens is not None]
    return max(known, default=None)
