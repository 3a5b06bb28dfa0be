"""`[[tenants]]`: what they name must exist, and the settings that follow."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from proa.config.document import KeyPath
from proa.config.tables import ProaTable, TenantTable
from proa.domain.tenant import DEFAULT_TENANT, BudgetSpec, QuotaSpec
from proa.gateway.settings import TenantSpec
from proa.routing.router import CATCH_ALL
from proa.telemetry.rows import MAX_TENANTS

_QUOTAS = set(QuotaSpec.__struct_fields__)


def tenant_specs(table: ProaTable) -> tuple[TenantSpec, ...]:
    """The tenants of the file, in its order."""
    return tuple(_tenant(entry) for entry in table.tenants)


def _tenant(table: TenantTable) -> TenantSpec:
    given = table.model_dump(exclude_unset=True, exclude=_QUOTAS | {"guard"})
    given |= {key: tuple(given.get(key, ())) for key in ("models", "routes", "adapters")}
    quotas = table.model_dump(exclude_unset=True, include=_QUOTAS - {"budget"})
    if table.budget is not None:
        quotas["budget"] = BudgetSpec(**table.budget.model_dump(exclude_unset=True))
    return TenantSpec(**given, quota=QuotaSpec(**quotas))


def tenant_names(data: Mapping[str, Any]) -> list[str]:
    """All names that a key or a route may mean: those of the file and the default one."""
    names = [entry["name"] for _, entry in _entries(data) if isinstance(entry.get("name"), str)]
    return list(dict.fromkeys([*names, DEFAULT_TENANT]))


def known_tenants(name: str, names: list[str]) -> str:
    """What would be accepted in the place of a name that no tenant has."""
    return f"no [[tenants]] has this name; {_near(name, names)}"


def _near(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f'did you mean "{close[0]}"?' if close else f"known are {', '.join(names)}"


def tenant_faults(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Names that do not exist and keys that need each other, as `checks` tells them."""
    entries = _entries(data)
    gateway = data.get("gateway")
    has_keys = isinstance(gateway, dict) and gateway.get("api_keys_file")
    if entries and not has_keys:
        yield ("tenants",), "they are told apart by API keys: [gateway] api_keys_file is needed"
    if len(entries) > MAX_TENANTS:
        yield ("tenants",), f"accepted are up to {MAX_TENANTS} tenants, not {len(entries)}"
    routes = [*_named(data, "routes"), CATCH_ALL]
    for index, entry in entries:
        listed = entry.get("routes")
        for place, name in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(name, str) and name not in routes:
                told = f"no route has this name; {_near(name, routes)}"
                yield ("tenants", index, "routes", place), told
    yield from _matched(data)


def _matched(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    names = tenant_names(data)
    for index, route in enumerate(_list(data, "routes")):
        match = route.get("match") if isinstance(route, dict) else None
        name = match.get("tenant") if isinstance(match, dict) else None
        if isinstance(name, str) and name not in names:
            yield ("routes", index, "match", "tenant"), known_tenants(name, names)


def _entries(data: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return [(i, e) for i, e in enumerate(_list(data, "tenants")) if isinstance(e, dict)]


def _named(data: Mapping[str, Any], key: str) -> list[str]:
    entries = [entry for entry in _list(data, key) if isinstance(entry, dict)]
    return [entry["name"] for entry in entries if isinstance(entry.get("name"), str)]


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    return value if isinstance(value, list) else []
