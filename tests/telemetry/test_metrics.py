"""The metrics page, read back by Prometheus' own parser."""

import re

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from proa.domain.fleet import EngineKind, EngineState, EngineView, FleetView
from proa.domain.outcome import Outcome
from proa.telemetry.finished import EngineTally
from proa.telemetry.metrics import prometheus_text
from proa.telemetry.process import GatewayView, ProcessView, ReloadView, WorkerView
from proa.telemetry.rows import (
    Engine,
    Header,
    Key,
    SharedRows,
    Tenant,
    engine_base,
    key_base,
    observe_ttft,
    tenant_base,
)

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def rows() -> SharedRows:
    shared = SharedRows.create(9)
    shared.use(2)
    return shared


def with_one_gone(rows: SharedRows) -> GatewayView:
    before = view(rows)
    return msgspec.structs.replace(before, engine_slots={**before.engine_slots, "gone": 6})


def view(rows: SharedRows, **process: object) -> GatewayView:
    engines = (
        EngineView(name="main", kind=EngineKind.VLLM, state=EngineState.READY),
        EngineView(name="aux", kind=EngineKind.LLAMACPP, state=EngineState.LOADING),
    )
    workers = tuple(WorkerView(index=n, pid=100 + n, generation=1, alive=n == 1) for n in (1, 2))
    return GatewayView(
        rows=rows,
        engine_slots={"main": 0, "aux": 3},
        key_slots={"team-a": 5},
        fleet=FleetView(4, engines),
        process=ProcessView(workers=workers, worker_restarts=7, **process),  # type: ignore[arg-type]
        version="1.2.3",
    )


def samples(page: GatewayView) -> Samples:
    families = text_string_to_metric_families(prometheus_text(page).decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_tenants_are_those_that_are_configured(rows: SharedRows) -> None:
    base = tenant_base(7)
    for n in (1, 2):
        rows.rows[n][base + Tenant.IN_FLIGHT] = n
        rows.rows[n][base + Tenant.WAITING] = 2 * n
        rows.rows[n][base + Tenant.REQUESTS] = 10
        rows.rows[n][base + Tenant.REFUSED_MODEL] = 4
        rows.rows[n][tenant_base(8) + Tenant.REQUESTS] = 99
    rows.rows[0][base + Tenant.REQUESTS] = 5
    page = samples(msgspec.structs.replace(view(rows), tenant_slots={"sales": 7}))
    assert value(page, "proa_tenant_requests_in_flight", tenant="sales") == 3
    assert value(page, "proa_tenant_queued", tenant="sales") == 6
    assert value(page, "proa_tenant_requests_total", tenant="sales") == 25
    assert value(page, "proa_tenant_refused_total", tenant="sales", reason="model") == 8
    assert {dict(labels)["tenant"] for name, labels in page if "tenant" in name} == {"sales"}


def value(page: Samples, name: str, **labels: str) -> float:
    return page[name, tuple(sorted(labels.items()))]


def test_counters_are_the_sum_of_all_workers(rows: SharedRows) -> None:
    at = engine_base(3)
    for n in (1, 2):
        rows.rows[n][at + Engine.OUTCOME + Outcome.BUSY] = 10 * n
        rows.rows[n][at + Engine.COMPLETION_TOKENS] = 100 * n
        rows.rows[n][at + Engine.IN_FLIGHT] = n
        rows.rows[n][key_base(5) + Key.IN_FLIGHT] = 2
        rows.rows[n][Header.REFUSED_KEY_CAP] = 4
        rows.rows[n][Header.LOG_DROPPED] = 1
    page = samples(view(rows, log_lines_dropped=5))
    assert value(page, "proa_requests_total", engine="aux", outcome="busy") == 30
    assert value(page, "proa_requests_total", engine="main", outcome="busy") == 0
    assert value(page, "proa_completion_tokens_total", engine="aux") == 300
    assert value(page, "proa_requests_in_flight", engine="aux") == 3
    assert value(page, "proa_key_requests_in_flight", key="team-a") == 4
    assert value(page, "proa_refused_total", reason="key_cap") == 8
    assert value(page, "proa_log_lines_dropped_total") == 7


def test_histograms_are_cumulative_and_in_seconds(rows: SharedRows) -> None:
    first, second = (EngineTally(rows.rows[i], 0) for i in (1, 2))
    for microseconds in (5_000, 10_000, 10_001, 99_000_000):
        observe_ttft(first.counts, microseconds)
    second.finished.append((250_000, None, None, 10, None, None))
    first.flush()
    second.flush()
    page = samples(view(rows))
    name = "proa_time_to_first_token_seconds"
    assert value(page, f"{name}_bucket", engine="main", le="0.01") == 2
    assert value(page, f"{name}_bucket", engine="main", le="0.025") == 3
    assert value(page, f"{name}_bucket", engine="main", le="60.0") == 3
    assert value(page, f"{name}_bucket", engine="main", le="+Inf") == 4
    assert value(page, f"{name}_count", engine="main") == 4
    assert value(page, f"{name}_sum", engine="main") == pytest.approx(99.025001)
    duration = "proa_request_duration_seconds"
    assert value(page, f"{duration}_bucket", engine="main", le="0.1") == 0
    assert value(page, f"{duration}_bucket", engine="main", le="0.25") == 1


def test_the_fleet_and_its_breakers(rows: SharedRows) -> None:
    rows.rows[2][engine_base(0) + Engine.BREAKER] = 2
    page = samples(view(rows))
    assert value(page, "proa_engine_up", engine="main") == 1
    assert value(page, "proa_engine_up", engine="aux") == 0
    assert value(page, "proa_engine_state", engine="aux", state="loading") == 1
    assert value(page, "proa_engine_state", engine="aux", state="ready") == 0
    assert value(page, "proa_breaker_state", engine="main", worker="1") == 0
    assert value(page, "proa_breaker_state", engine="main", worker="2") == 2


def test_the_processes(rows: SharedRows) -> None:
    page = samples(view(rows, last_reload=ReloadView(at_s=1.0, error="no")))
    assert value(page, "proa_workers") == 1
    assert value(page, "proa_worker_restarts_total") == 7
    assert value(page, "proa_config_last_reload_success") == 0
    assert value(page, "proa_build_info", version="1.2.3") == 1
    assert value(samples(view(rows)), "proa_config_last_reload_success") == 1


def test_the_page_does_not_grow_with_traffic(rows: SharedRows) -> None:
    before = set(samples(view(rows)))
    for cell in range(len(rows.rows[1])):
        rows.rows[1][cell] = 9_999
    assert set(samples(view(rows))) == before


def test_names_keep_prometheus_rules(rows: SharedRows) -> None:
    text = prometheus_text(view(rows)).decode()
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert all(name.startswith("proa_") for name in types)
    assert all(name.endswith("_total") for name, kind in types.items() if kind == "counter")
    assert "_created" not in text
    assert len(re.findall(r"^# HELP proa_\S+ .+\.$", text, re.MULTILINE)) == len(types)


def test_a_removed_engine_keeps_its_counters_and_no_state(rows: SharedRows) -> None:
    rows.rows[1][engine_base(6) + Engine.OUTCOME + Outcome.OK] = 4
    page = samples(with_one_gone(rows))
    assert value(page, "proa_requests_total", engine="gone", outcome="ok") == 4
    told = {name for name, labels in page if ("engine", "gone") in labels}
    assert not told & {"proa_requests_in_flight", "proa_breaker_state", "proa_engine_up"}
    rows.rows[1][engine_base(6) + Engine.IN_FLIGHT] = 2  # removed before it had finished
    page = samples(with_one_gone(rows))
    assert value(page, "proa_requests_in_flight", engine="gone") == 2
