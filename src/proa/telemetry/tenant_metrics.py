"""What each tenant has open, waiting and refused; labels are configured tenants only."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from proa.routing.quota.used import MICRO, Kind
from proa.telemetry.process import GatewayView
from proa.telemetry.rows import Tenant, tenant_base

REFUSALS = {
    "cap": Tenant.REFUSED_CAP,
    "model": Tenant.REFUSED_MODEL,
    "route": Tenant.REFUSED_ROUTE,
    "rate": Tenant.REFUSED_RATE,
    "quota": Tenant.REFUSED_QUOTA,
    "budget": Tenant.REFUSED_BUDGET,
}


def tenant_metrics(view: GatewayView) -> Iterator[Metric]:
    """Metrics of the tenants that are configured now."""
    in_flight = GaugeMetricFamily(
        "proa_tenant_requests_in_flight", "Open requests of a tenant.", labels=["tenant"]
    )
    queued = GaugeMetricFamily(
        "proa_tenant_queued", "Requests of a tenant that wait for a place.", labels=["tenant"]
    )
    requests = CounterMetricFamily(
        "proa_tenant_requests", "Requests of a tenant that were let in.", labels=["tenant"]
    )
    refused = CounterMetricFamily(
        "proa_tenant_refused", "Requests of a tenant that its own settings refused.",
        labels=["tenant", "reason"],
    )  # fmt: skip
    rows = view.rows
    for name, slot in view.tenant_slots.items():
        base = tenant_base(slot)
        in_flight.add_metric([name], rows.in_flight(base + Tenant.IN_FLIGHT))
        queued.add_metric([name], rows.in_flight(base + Tenant.WAITING))
        requests.add_metric([name], rows.total(base + Tenant.REQUESTS))
        for reason, cell in REFUSALS.items():
            refused.add_metric([name, reason], rows.total(base + cell))
    yield from (in_flight, queued, requests, refused)
    yield from _usage_metrics(view)


def _usage_metrics(view: GatewayView) -> Iterator[Metric]:
    """Of tenants whose tokens are counted, and each of their limits."""
    labels = ["tenant", "limit"]
    tokens = CounterMetricFamily(
        "proa_tenant_tokens", "Tokens that a tenant used.", labels=["tenant", "kind"]
    )
    cost = CounterMetricFamily("proa_tenant_cost", "Money that a tenant spent.", labels=["tenant"])
    used = GaugeMetricFamily("proa_tenant_limit_used", "Used and held of a limit.", labels=labels)
    allowed = GaugeMetricFamily("proa_tenant_limit", "A tenant's limit.", labels=labels)
    rows, standings = view.rows, view.process.usage.standings()
    for name, slot in view.tenant_slots.items():
        base = tenant_base(slot)
        tokens.add_metric([name, "input"], rows.total(base + Tenant.INPUT_TOKENS))
        tokens.add_metric([name, "output"], rows.total(base + Tenant.OUTPUT_TOKENS))
        cost.add_metric([name], rows.total(base + Tenant.COST) / MICRO)
        standing = standings.get(name)
        for limit in standing.limits if standing else ():
            unit = MICRO if limit.kind is Kind.BUDGET else 1
            used.add_metric([name, limit.kind.value], limit.used / unit)
            allowed.add_metric([name, limit.kind.value], limit.limit / unit)
    yield from (tokens, cost, used, allowed)
