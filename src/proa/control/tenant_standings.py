"""What tenants have used of their limits, for status, metrics and the admin API."""

from collections.abc import Mapping

from proa.domain.tenant import QuotaSpec
from proa.routing.quota.periods import Moment
from proa.routing.quota.used import MICRO, Held, Kind, Used
from proa.telemetry.process import TenantStanding, UsageView
from proa.telemetry.rows import SharedRows, Tenant, tenant_base

Json = dict[str, object]


def standing(rows: SharedRows, slot: int, quota: QuotaSpec, moment: Moment) -> TenantStanding:
    """One tenant at a moment; open requests count with what they hold."""
    account, base = rows.account(slot).copy(), tenant_base(slot)
    account.turn(moment)
    held = Held(rows.in_flight(base + Tenant.HELD_INPUT), rows.in_flight(base + Tenant.HELD_OUTPUT))
    today = next(count for count in account.days() if count.day == moment.day)
    return TenantStanding(
        limits=tuple(account.used(quota, moment, held)),
        requests=today.requests,
        input_tokens=today.input,
        output_tokens=today.output,
        cost=today.cost,
        currency="" if quota.budget is None else quota.budget.currency,
    )


def tenants_document(usage: UsageView, tenants: Mapping[str, Json]) -> Json:
    """What `/admin/tenants` answers; `tenants` are those of the status."""
    known = usage.standings()
    return {
        "usage": usage_document(usage),
        "tenants": [
            entry | (_told(known[name]) if name in known else {}) for name, entry in tenants.items()
        ],
    }


def usage_document(usage: UsageView) -> Json | None:
    """How keeping goes; None where nothing is kept."""
    if not usage.store:
        return None
    return {
        "store": usage.store,
        "unsaved": usage.unsaved,
        "failures": usage.failures,
        "problem": usage.problem or None,
    }


def _told(tenant: TenantStanding) -> Json:
    return {
        "today": {
            "requests": tenant.requests,
            "input_tokens": tenant.input_tokens,
            "output_tokens": tenant.output_tokens,
            "cost": tenant.cost / MICRO,
        },
        "currency": tenant.currency or None,
        "limits": [_limit(used) for used in tenant.limits],
    }


def _limit(used: Used) -> Json:
    unit = MICRO if used.kind is Kind.BUDGET else 1
    wait_s = used.passes_in_s
    return {
        "limit": used.kind.value,
        "allowed": used.limit / unit if unit > 1 else used.limit,
        "used": used.used / unit if unit > 1 else used.used,
        "passes_in_s": round(wait_s, 3) if used.is_reached and wait_s is not None else None,
    }
