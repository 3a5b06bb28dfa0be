"""Prometheus text from the shared rows and the fleet view.

Labels hold names from the configuration only, never a word of a client's: the page
does not grow with traffic.
"""

from collections.abc import Iterable, Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from proa.domain.fleet import EngineState
from proa.domain.outcome import Outcome
from proa.routing.admission.denial import Denial
from proa.routing.admission.priority import PRIORITIES
from proa.telemetry.guard_metrics import guard_metrics
from proa.telemetry.load_metrics import load_metrics
from proa.telemetry.process import GatewayView
from proa.telemetry.rows import (
    DURATION_BOUNDS_US,
    TTFT_BOUNDS_US,
    Engine,
    Header,
    Key,
    SharedRows,
    engine_base,
    key_base,
)
from proa.telemetry.tenant_metrics import tenant_metrics
from proa.telemetry.timing_metrics import timing_metrics

CONTENT_TYPE = CONTENT_TYPE_LATEST
_US_PER_S = 1_000_000
_REFUSALS = {
    "auth": Header.REFUSED_AUTH,
    "protocol": Header.REFUSED_PROTOCOL,
    "limit": Header.REFUSED_LIMIT,
    "no_engine": Header.REFUSED_NO_ENGINE,
    "key_cap": Header.REFUSED_KEY_CAP,
    Denial.QUEUE_FULL.value: Header.REFUSED_QUEUE_FULL,
    Denial.SHED.value: Header.REFUSED_SHED,
    Denial.SATURATED.value: Header.REFUSED_SATURATED,
    Denial.DEADLINE.value: Header.REFUSED_DEADLINE,
    Denial.EXPIRED.value: Header.REFUSED_EXPIRED,
}
_ENGINE_COUNTERS = (
    ("proa_retries", "Requests that were taken to another engine.", Engine.RETRIES),
    ("proa_upstream_connects", "Connections opened to an engine.", Engine.CONNECTS),
    ("proa_prompt_tokens", "Prompt tokens as the engine counted them.", Engine.PROMPT_TOKENS),
    ("proa_completion_tokens", "Generated tokens as the engine counted them.",
     Engine.COMPLETION_TOKENS),
    ("proa_broken_streams", "Streams that ended early after their status was sent.",
     Engine.BROKEN_STREAMS),
)  # fmt: skip
_HEDGES = {
    "won": Engine.HEDGES_WON,
    "lost": Engine.HEDGES_LOST,
    "failed": Engine.HEDGES_FAILED,
}
_HISTOGRAMS = (
    ("proa_request_duration_seconds", "Time from the request to the end of its answer.",
     Engine.DURATION_BUCKET, Engine.DURATION_SUM_US, DURATION_BOUNDS_US),
    ("proa_time_to_first_token_seconds", "Time from the request to the first generated content.",
     Engine.TTFT_BUCKET, Engine.TTFT_SUM_US, TTFT_BOUNDS_US),
)  # fmt: skip


def prometheus_text(view: GatewayView) -> bytes:
    """One page in Prometheus' text format, to be sent as `CONTENT_TYPE`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Page(view))
    return generate_latest(registry)


class _Page(Collector):
    def __init__(self, view: GatewayView) -> None:
        self._view = view

    def collect(self) -> Iterable[Metric]:
        yield from _request_metrics(self._view)
        yield from _engine_counters(self._view)
        yield from _histograms(self._view)
        yield from _fleet_metrics(self._view)
        yield from load_metrics(self._view)
        yield from timing_metrics(self._view)
        yield from _key_metrics(self._view)
        yield from tenant_metrics(self._view)
        yield from guard_metrics(self._view.rows)
        yield from _queue_metrics(self._view.rows)
        yield from _gateway_metrics(self._view)
        yield from _process_metrics(self._view)


def _request_metrics(view: GatewayView) -> Iterator[Metric]:
    requests = CounterMetricFamily(
        "proa_requests", "Tries given to an engine, by their end.", labels=["engine", "outcome"]
    )
    in_flight = GaugeMetricFamily(
        "proa_requests_in_flight", "Tries given to an engine and not ended.", labels=["engine"]
    )
    for name, slot in view.engine_slots.items():
        at = engine_base(slot) + Engine.OUTCOME
        for outcome in Outcome:
            requests.add_metric([name, outcome.label], view.rows.total(at + outcome))
        running = view.rows.engine_in_flight(slot)
        if running or view.fleet.engine(name) is not None:  # one that was removed has its end
            in_flight.add_metric([name], running)
    yield requests
    yield in_flight


def _engine_counters(view: GatewayView) -> Iterator[Metric]:
    for name, text, cell in _ENGINE_COUNTERS:
        family = CounterMetricFamily(name, text, labels=["engine"])
        for engine, slot in view.engine_slots.items():
            family.add_metric([engine], view.rows.total(engine_base(slot) + cell))
        yield family
    hedges = CounterMetricFamily(
        "proa_hedges", "Second tries of late requests, by their end.", labels=["engine", "outcome"]
    )
    for engine, slot in view.engine_slots.items():
        for outcome, cell in _HEDGES.items():
            hedges.add_metric([engine, outcome], view.rows.total(engine_base(slot) + cell))
    yield hedges


def _histograms(view: GatewayView) -> Iterator[Metric]:
    for name, text, bucket_cell, sum_cell, bounds_us in _HISTOGRAMS:
        family = HistogramMetricFamily(name, text, labels=["engine"])
        for engine, slot in view.engine_slots.items():
            base = engine_base(slot)
            buckets = _cumulative(view.rows, base + bucket_cell, bounds_us)
            family.add_metric([engine], buckets, view.rows.total(base + sum_cell) / _US_PER_S)
        yield family


def _cumulative(rows: SharedRows, at: int, bounds_us: tuple[int, ...]) -> list[tuple[str, float]]:
    """`le` pairs: the rows count each bucket alone, Prometheus wants all below it too."""
    labels = [repr(bound / _US_PER_S) for bound in bounds_us] + ["+Inf"]
    pairs: list[tuple[str, float]] = []
    count = 0
    for n, label in enumerate(labels):
        count += rows.total(at + n)
        pairs.append((label, count))
    return pairs


def _fleet_metrics(view: GatewayView) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "proa_engine_up", "1 when the engine takes traffic, as far as its health tells.",
        labels=["engine"],
    )  # fmt: skip
    state = GaugeMetricFamily(
        "proa_engine_state", "1 for the state that the engine is in.", labels=["engine", "state"]
    )
    for engine in view.fleet.engines:
        up.add_metric([engine.name], engine.state.takes_traffic)
        for each in EngineState:
            state.add_metric([engine.name, each.value], engine.state is each)
    breaker = GaugeMetricFamily(
        "proa_breaker_state", "A worker's circuit breaker: 0 closed, 1 half open, 2 open.",
        labels=["engine", "worker"],
    )  # fmt: skip
    for name, slot in view.engine_slots.items():
        if view.fleet.engine(name) is None:
            continue
        cell = engine_base(slot) + Engine.BREAKER
        for worker in view.process.workers:
            breaker.add_metric([name, str(worker.index)], view.rows.rows[worker.index][cell])
    yield from (up, state, breaker)


def _key_metrics(view: GatewayView) -> Iterator[Metric]:
    in_flight = GaugeMetricFamily(
        "proa_key_requests_in_flight", "Open requests of an API key.", labels=["key"]
    )
    requests = CounterMetricFamily("proa_key_requests", "Requests of an API key.", labels=["key"])
    for name, slot in view.key_slots.items():
        in_flight.add_metric([name], view.rows.key_in_flight(slot))
        requests.add_metric([name], view.rows.total(key_base(slot) + Key.REQUESTS))
    yield in_flight
    yield requests


def _queue_metrics(rows: SharedRows) -> Iterator[Metric]:
    queued = GaugeMetricFamily("proa_queued", "Requests that wait for a place.", labels=["class"])
    for rank, priority in enumerate(PRIORITIES):
        queued.add_metric([priority.value], rows.total(Header.QUEUED + rank))
    yield queued
    buckets = _cumulative(rows, Header.WAIT_BUCKET, TTFT_BOUNDS_US)
    yield HistogramMetricFamily(
        "proa_queue_wait_seconds", "Time in the queue of requests that waited and started.",
        buckets=buckets, sum_value=rows.total(Header.WAIT_SUM_US) / _US_PER_S,
    )  # fmt: skip
    yield _counter("proa_queue_wake_ups", "Workers told of a free place by another worker.",
                   rows.total(Header.WAKE_UPS))  # fmt: skip


def _gateway_metrics(view: GatewayView) -> Iterator[Metric]:
    total = view.rows.total
    refused = CounterMetricFamily(
        "proa_refused", "Requests that the gateway itself refused.", labels=["reason"]
    )
    for reason, cell in _REFUSALS.items():
        refused.add_metric([reason], total(cell))
    yield refused
    yield _gauge("proa_connections", "Open client connections.", total(Header.CONNECTIONS))
    yield _gauge("proa_open_exchanges", "Requests being served.", total(Header.OPEN_EXCHANGES))
    yield _gauge("proa_body_bytes", "Buffered request bodies.", total(Header.BODY_BYTES))
    yield _counter("proa_accepted", "Client connections accepted.", total(Header.ACCEPTED))
    yield _counter("proa_answered_locally", "Requests answered without an engine.",
                   total(Header.ANSWERED_LOCALLY))  # fmt: skip
    dropped = total(Header.LOG_DROPPED) + view.process.log_lines_dropped
    yield _counter("proa_log_lines_dropped", "Log lines lost because nobody took them.", dropped)
    records = view.process.records
    dropped = total(Header.RECORDS_DROPPED) + records.dropped
    yield _counter("proa_records_written", "Request records written.", records.written)
    yield _counter("proa_records_dropped", "Request records lost, their store too far behind.",
                   dropped)  # fmt: skip
    yield _gauge("proa_records_waiting", "Request records not written yet.", records.waiting)
    yield _gauge("proa_records_store_up", "1 unless the records' store refused the last write.",
                 int(not records.problem))  # fmt: skip
    usage = view.process.usage
    yield _gauge("proa_usage_store_up", "1 unless the store of usage refused the last write.",
                 int(not usage.problem))  # fmt: skip
    yield _gauge("proa_usage_unsaved", "Counts that the store of usage has not taken yet.",
                 usage.unsaved)  # fmt: skip
    yield _counter("proa_usage_store_failures", "Writes that the store of usage did not take.",
                   usage.failures)  # fmt: skip


def _process_metrics(view: GatewayView) -> Iterator[Metric]:
    process = view.process
    reload_succeeded = process.last_reload is None or process.last_reload.succeeded
    yield _gauge("proa_workers", "Worker processes alive.", process.alive_workers)
    yield _counter("proa_worker_restarts", "Workers started again.", process.worker_restarts)
    yield _gauge("proa_config_generation", "Configurations accepted so far.", process.generation)
    yield _gauge("proa_config_last_reload_success", "1 unless the last reload was refused.",
                 reload_succeeded)  # fmt: skip
    info = GaugeMetricFamily("proa_build_info", "Always 1.", labels=["version"])
    info.add_metric([view.version], 1)
    yield info


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)
