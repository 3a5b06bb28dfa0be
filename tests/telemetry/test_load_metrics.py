"""What engines say of themselves on the metrics page; unknown is absent, never zero."""

import msgspec
from tests.telemetry.test_metrics import samples, value, view

from proa.domain.fleet import AdapterView, EngineKind, EngineState, EngineView, FleetView, ModelView
from proa.domain.load import CacheView, EngineLoad, EngineLoadView, LoadView
from proa.telemetry.process import GatewayView
from proa.telemetry.rows import SharedRows


def page(*engines: EngineLoadView, fleet: tuple[EngineView, ...] = ()) -> GatewayView:
    rows = SharedRows.create(9)
    rows.use(2)
    return msgspec.structs.replace(
        view(rows), loads=LoadView(3, engines), now_s=11.0, fleet=FleetView(1, fleet)
    )


def test_a_load_that_is_known() -> None:
    load = EngineLoad(
        at_s=10.5, running=4, waiting=0, kv_use=0.25, kv_tokens=8192, prefix_hit_rate=0.5,
        preemptions_total=35.0,
    )  # fmt: skip
    shown = samples(page(EngineLoadView(name="main", load=load, foreign=2, max_concurrent=16)))
    assert value(shown, "proa_engine_requests_running", engine="main") == 4
    assert value(shown, "proa_engine_requests_waiting", engine="main") == 0
    assert value(shown, "proa_engine_kv_use_ratio", engine="main") == 0.25
    assert value(shown, "proa_engine_kv_tokens", engine="main") == 8192
    assert value(shown, "proa_engine_prefix_hit_ratio", engine="main") == 0.5
    assert value(shown, "proa_engine_preemptions_total", engine="main") == 35
    assert value(shown, "proa_engine_load_age_seconds", engine="main") == 0.5
    assert value(shown, "proa_engine_foreign_requests", engine="main") == 2
    assert value(shown, "proa_engine_max_concurrent_requests", engine="main") == 16


def test_what_kv_events_told() -> None:
    cache = CacheView(cached_tokens=640, evicted_tokens_total=32, cleared_total=2, lost_total=1)
    blind = msgspec.structs.replace(cache, cached_tokens=None)
    engines = EngineLoadView(name="main", cache=cache), EngineLoadView(name="aux", cache=blind)
    shown = samples(page(*engines))
    assert value(shown, "proa_engine_cached_tokens", engine="main") == 640
    assert value(shown, "proa_engine_evicted_tokens_total", engine="main") == 32
    assert value(shown, "proa_engine_cache_clears_total", engine="main") == 2
    assert value(shown, "proa_engine_kv_events_losses_total", engine="aux") == 1
    assert len([name for name, _ in shown if name == "proa_engine_cached_tokens"]) == 1


def test_what_is_unknown_has_no_sample() -> None:
    silent = EngineLoadView(name="aux")
    half = EngineLoadView(name="main", load=EngineLoad(at_s=10.0, kv_tokens=9))
    shown = samples(page(silent, half))
    told = {name for name, _ in shown if name.startswith("proa_engine_")}
    assert told == {"proa_engine_kv_tokens", "proa_engine_load_age_seconds"}


def test_facts() -> None:
    engine = EngineView(
        name="main",
        kind=EngineKind.VLLM,
        state=EngineState.READY,
        version="0.32.0" + "x" * 99,
        models=(ModelView("m", msgspec.Raw(b"{}"), 4096), ModelView("n", msgspec.Raw(b"{}"))),
        adapters=(AdapterView("ad1", "m"),),
    )
    shown = samples(page(fleet=(engine,)))
    assert value(shown, "proa_engine_context_tokens", engine="main") == 4096
    assert value(shown, "proa_engine_adapters", engine="main") == 1
    version = "0.32.0" + "x" * 58
    assert value(shown, "proa_engine_info", engine="main", kind="vllm", version=version) == 1
    assert value(shown, "proa_engine_state", engine="main", state="sleeping") == 0
