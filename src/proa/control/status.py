"""Readiness and status of the gateway, as plain values out of one `GatewayView`."""

import msgspec

from proa.control.tenant_standings import tenants_document, usage_document
from proa.domain.fleet import EngineKind, EngineState, EngineView
from proa.domain.load import CacheView
from proa.domain.outcome import Outcome
from proa.domain.timing import EngineTiming
from proa.engines.adapters import ADAPTERS
from proa.telemetry.load_metrics import counts_requests
from proa.telemetry.process import GatewayView, RecordsView, WorkerView
from proa.telemetry.rows import Engine, Header, Key, Tenant, engine_base, key_base, tenant_base
from proa.telemetry.tenant_metrics import REFUSALS

_BREAKER = ("closed", "half_open", "open")

Json = dict[str, object]


def unready_reasons(view: GatewayView) -> list[str]:
    """Why no traffic should be sent here; empty when the gateway is ready.

    An engine that was never asked does not make it ready, although it may get traffic.
    """
    reasons = []
    if view.process.draining:
        reasons.append("the gateway is draining")
    if not view.process.alive_workers:
        reasons.append("no worker is alive")
    if not any(engine.state is EngineState.READY for engine in view.fleet.engines):
        reasons.append("no engine is ready")
    return reasons


def status_document(view: GatewayView) -> Json:
    """What `/admin/status` answers; keys are stable. No key, address or prompt is in it."""
    process, reload = view.process, view.process.last_reload
    return {
        "version": view.version,
        "generation": process.generation,
        "draining": process.draining,
        "not_ready_because": unready_reasons(view),
        "last_reload": reload
        and {
            "at_s": reload.at_s,
            "succeeded": reload.succeeded,
            "error": reload.error or None,
            "warnings": list(reload.warnings),
        },
        "worker_restarts": process.worker_restarts,
        "records": _records(process.records),
        "usage": usage_document(process.usage),
        "workers": [_worker(view, worker) for worker in process.workers],
        "fleet_sequence": view.fleet.sequence,
        "loads_sequence": view.loads.sequence,
        "engines": [_engine(view, engine) for engine in view.fleet.engines],
        "keys": [_key(view, name, slot) for name, slot in view.key_slots.items()],
        "tenants": [_tenant(view, name, slot) for name, slot in view.tenant_slots.items()],
    }


def tenants_status(view: GatewayView) -> Json:
    """What `/admin/tenants` answers."""
    slots = view.tenant_slots.items()
    return tenants_document(
        view.process.usage, {name: _tenant(view, name, slot) for name, slot in slots}
    )


def _records(records: RecordsView) -> Json | None:
    """None where none are kept."""
    if not records.store:
        return None
    return msgspec.structs.asdict(records) | {"problem": records.problem or None}


def _worker(view: GatewayView, worker: WorkerView) -> Json:
    row = view.rows.rows[worker.index]
    return {
        "index": worker.index,
        "pid": worker.pid,
        "alive": worker.alive,
        "generation": worker.generation,
        "refused": worker.refused or None,
        "fleet_sequence": row[Header.FLEET_SEQUENCE],
        "loads_sequence": row[Header.LOADS_SEQUENCE],
        "connections": row[Header.CONNECTIONS],
        "open_exchanges": row[Header.OPEN_EXCHANGES],
    }


def _engine(view: GatewayView, engine: EngineView) -> Json:
    known: Json = {
        "name": engine.name,
        "kind": engine.kind.value,
        "state": engine.state.value,
        "detail": engine.detail or None,
        "models": [model.id for model in engine.models] if engine.models_known else None,
        "version": engine.version or None,
        "context_tokens": {model.id: model.context_tokens for model in engine.models},
        "adapters": engine.adapters
        and [{"name": adapter.name, "parent": adapter.parent} for adapter in engine.adapters],
        "flags": engine.flags,
        "notices_closed_client_within_s": _cancel_habit(engine.kind),
        **_load(view, engine.name),
    }
    slot = view.engine_slots.get(engine.name)
    return known if slot is None else known | _counters(view, slot)


def _cancel_habit(kind: EngineKind) -> Json:
    """How long such an engine may go on for a client that left; null where nobody measured it."""
    habit = ADAPTERS[kind].cancel_habit
    return {"stream": habit.stream_s, "whole": habit.whole_s}


def _load(view: GatewayView, name: str) -> Json:
    """What the engine says that it has to do; null is "it does not say", and never zero."""
    engine = next((engine for engine in view.loads.engines if engine.name == name), None)
    load = engine and engine.load
    return {
        "load": load
        and {
            "age_s": round(max(0.0, view.now_s - load.at_s), 3),
            "running": load.running,
            "waiting": load.waiting,
            "kv_use": load.kv_use,
            "kv_tokens": load.kv_tokens,
            "prefix_hit_rate": load.prefix_hit_rate,
            "preemptions_total": load.preemptions_total,
            "adapters_running": load.adapters_running,
            "adapters_max": load.adapters_max,
            "sleeping": load.is_sleeping,
        },
        "foreign": engine.foreign if engine and counts_requests(engine) else None,
        "max_concurrent": engine and engine.max_concurrent,
        "timing": engine and _timing(engine.timing),
        "cache": engine and _cache(engine.cache),
    }


def _cache(cache: CacheView | None) -> Json | None:
    """What the engine's KV events have told; null without them."""
    return None if cache is None else msgspec.structs.asdict(cache)


def _timing(timing: EngineTiming | None) -> Json | None:
    """How fast the engine is thought to be; null while nothing is known."""
    if timing is None:
        return None
    step = timing.step
    return {
        "source": timing.source.value,
        "samples": timing.samples,
        "age_s": round(timing.age_s, 3),
        "step_base_s": step.base_s,
        "step_per_sequence_s": step.per_sequence_s,
        "step_per_kv_token_s": step.per_kv_token_s,
        "prefill_tokens_per_s": timing.prefill_tokens_per_s,
        "output_tokens": timing.output_tokens,
        "bytes_per_token": timing.bytes_per_token,
    }


def _counters(view: GatewayView, slot: int) -> Json:
    base, rows = engine_base(slot), view.rows
    breakers = {
        str(w.index): rows.rows[w.index][base + Engine.BREAKER] for w in view.process.workers
    }
    return {
        "in_flight": rows.engine_in_flight(slot),
        "breaker": {index: _BREAKER[state] for index, state in breakers.items()},
        "outcomes": {o.label: rows.total(base + Engine.OUTCOME + o) for o in Outcome},
        "retries": rows.total(base + Engine.RETRIES),
        "broken_streams": rows.total(base + Engine.BROKEN_STREAMS),
        "prompt_tokens": rows.total(base + Engine.PROMPT_TOKENS),
        "completion_tokens": rows.total(base + Engine.COMPLETION_TOKENS),
    }


def _key(view: GatewayView, name: str, slot: int) -> Json:
    return {
        "name": name,
        "in_flight": view.rows.key_in_flight(slot),
        "requests": view.rows.total(key_base(slot) + Key.REQUESTS),
    }


def _tenant(view: GatewayView, name: str, slot: int) -> Json:
    base, rows = tenant_base(slot), view.rows
    return {
        "name": name,
        "in_flight": rows.in_flight(base + Tenant.IN_FLIGHT),
        "queued": rows.in_flight(base + Tenant.WAITING),
        "requests": rows.total(base + Tenant.REQUESTS),
        "refused": {reason: rows.total(base + cell) for reason, cell in REFUSALS.items()},
    }
