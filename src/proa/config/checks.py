"""Checks between the keys of proa.toml: names that must exist, numbers that must agree.

They read the raw data and pass over whatever has the wrong form (validation.py tells
that), so that one run reports both kinds of fault.
"""

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, TypeGuard

from proa.config.contract import contract_faults
from proa.config.discovery import discovery_faults, group_names
from proa.config.document import Document, KeyPath
from proa.config.faults import Fault, shown_value
from proa.config.guard import guard_faults
from proa.config.loops import loop_faults
from proa.config.tenants import tenant_faults
from proa.domain.dialect import CHAT_TEMPLATES
from proa.gateway.settings import LimitsSettings
from proa.routing.spec import BreakerSpec
from proa.telemetry.rows import MAX_ENGINES

Found = Iterator[tuple[KeyPath, str]]
"""The path of a wrong value, and what would be accepted there."""


def check_document(document: Document) -> list[Fault]:
    """Every fault that lies between keys."""
    return [_fault(document, *found) for check in _CHECKS for found in check(document.data)]


def _fault(document: Document, path: KeyPath, accepted: str) -> Fault:
    value: Any = document.data
    for part in path:
        is_there = isinstance(part, int) or part in value
        value = value[part] if is_there else None
    if value is None:
        return document.fault(path, accepted, problem="is missing")
    return document.fault(path, accepted, shown=shown_value(value))


def tables(data: dict[str, Any], key: str) -> list[tuple[int, dict[str, Any]]]:
    """Entries of an array of tables that are tables, with their index."""
    entries = data.get(key)
    if not isinstance(entries, list):
        return []
    return [(i, entry) for i, entry in enumerate(entries) if isinstance(entry, dict)]


def duplicate_names(data: dict[str, Any], key: str, field: str = "name") -> Found:
    """Entries whose `field` an earlier entry has already."""
    seen: dict[str, int] = {}
    for index, entry in tables(data, key):
        value = entry.get(field)
        if isinstance(value, str) and seen.setdefault(value, index) != index:
            yield (key, index, field), f"{key}[{seen[value]}] has the same, each needs its own"


def _unique_names(data: dict[str, Any]) -> Found:
    for key in (
        "engines",
        "discovery",
        "models",
        "chat_templates",
        "routes",
        "adapters",
        "tenants",
    ):
        yield from duplicate_names(data, key)
    engines = _names(data, "engines")
    for index, name in enumerate(group_names(data)):
        if name in engines:
            yield ("discovery", index, "name"), "an engine has this name, each needs its own"


def _engine_count(data: dict[str, Any]) -> Found:
    count = len(tables(data, "engines"))
    others = data.get("discovery") or _table(data, "control").get("state_file")
    if ("engines" not in data or data["engines"] == []) and not others:
        yield ("engines",), "at least one [[engines]] with a name and a url is needed"
    elif count > MAX_ENGINES:
        yield ("engines",), f"accepted are up to {MAX_ENGINES} engines, not {count}"


def _listen_twice(data: dict[str, Any]) -> Found:
    gateway, control = (_table(data, key).get("listen") for key in ("gateway", "control"))
    if isinstance(gateway, str) and gateway == control and not gateway.endswith(":0"):
        yield ("control", "listen"), "another address than that of the gateway"


def _route_engines(data: dict[str, Any]) -> Found:
    names = [*_names(data, "engines"), *group_names(data)]
    for index, route in tables(data, "routes"):
        prefer, overflow = (list(_texts(route, key)) for key in ("prefer", "overflow"))
        for key, earlier, listed in (("prefer", [], prefer), ("overflow", prefer, overflow)):
            for place, name in listed:
                path: KeyPath = ("routes", index, key, place)
                if name not in names:
                    yield path, f"no engine has this name; {_known(name, names)}"
                elif name in [n for p, n in earlier] or name in [n for p, n in listed if p < place]:
                    yield path, "each engine once in a route"
        if overflow and route.get("prefer", []) == []:
            yield ("routes", index, "prefer"), "overflow says who helps out, prefer whom"
        if "overflow_when" in route and route.get("overflow", []) == []:
            yield ("routes", index, "overflow"), "overflow_when needs engines to overflow to"


def _route_models(data: dict[str, Any]) -> Found:
    served = {
        entry["name"]: [name for _, name in _texts(entry, "models")]
        for _, entry in tables(data, "engines")
        if isinstance(entry.get("name"), str)
    }
    for index, route in tables(data, "routes"):
        named = [name for key in ("prefer", "overflow") for _, name in _texts(route, key)]
        lists = [served.get(name, []) for name in named or served]
        if not lists or not all(lists):
            continue
        known = sorted({name for models in lists for name in models})
        for path, model in _route_model_names(index, route):
            if model not in known:
                yield path, f"no engine of this route has it; {_known(model, known)}"


def _route_model_names(index: int, route: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """The models that a route itself asks engines for."""
    if isinstance(route.get("model"), str):
        yield ("routes", index, "model"), route["model"]
    for place, name in _texts(route, "fallback_models"):
        yield ("routes", index, "fallback_models", place), name


def _qualities(data: dict[str, Any]) -> Found:
    qualities = {
        entry.get("name"): entry["quality"]
        for _, entry in tables(data, "models")
        if _is_number(entry.get("quality")) and isinstance(entry.get("name"), str)
    }
    for index, route in tables(data, "routes"):
        floor, model = route.get("min_quality"), route.get("model")
        path: KeyPath = ("routes", index, "min_quality")
        if not _is_number(floor):
            continue
        if not any(quality >= floor for quality in qualities.values()):
            yield path, "no model reaches it; each model's quality stands under [[models]]"
        elif isinstance(model, str) and not qualities.get(model, floor - 1) >= floor:
            yield path, f"the route's model {shown_value(model)} does not reach it under [[models]]"
        for place, name in _texts(route, "fallback_models"):
            if not qualities.get(name, floor - 1) >= floor:
                told = f"a model that reaches min_quality, {floor}, under [[models]]"
                yield ("routes", index, "fallback_models", place), told


def _token_ranges(data: dict[str, Any]) -> Found:
    for index, route in tables(data, "routes"):
        match = _table(route, "match")
        for what in ("input_tokens", "tokens"):
            least, most = match.get(f"min_{what}"), match.get(f"max_{what}")
            if _is_number(least) and _is_number(most) and least > most:
                yield ("routes", index, "match", f"min_{what}"), f"at most max_{what}, {most}"


def _tenants(data: dict[str, Any]) -> Found:
    if _table(data, "gateway").get("api_keys_file"):
        return
    for index, route in tables(data, "routes"):
        if "tenant" in _table(route, "match"):
            path: KeyPath = ("routes", index, "match", "tenant")
            yield path, "tenants are those of API keys: [gateway] api_keys_file is needed"


def _adapter_policy(data: dict[str, Any]) -> Found:
    if data.get("adapters") and _table(data, "policy").get("name") != "lora":
        yield ("adapters",), 'they are loaded by [policy] name = "lora" only'


def _headers_once(data: dict[str, Any]) -> Found:
    for index, route in tables(data, "routes"):
        seen: set[str] = set()
        for header in _table(_table(route, "match"), "headers"):
            if header.lower() in seen:
                path: KeyPath = ("routes", index, "match", "headers")
                yield path, f"each header once: {shown_value(header)} differs in case only"
            seen.add(header.lower())


def _chat_templates(data: dict[str, Any]) -> Found:
    known = [*CHAT_TEMPLATES, *_names(data, "chat_templates")]
    for key in ("engines", "models"):
        for index, entry in tables(data, key):
            name = entry.get("chat_template")
            if isinstance(name, str) and name not in known:
                path: KeyPath = (key, index, "chat_template")
                yield path, f"no template has this name; {_known(name, known)}"


def _number_pairs(data: dict[str, Any]) -> Found:
    for table, settings, small, large in (
        ("limits", LimitsSettings(), "max_body_bytes", "body_budget_bytes"),
        ("breaker", BreakerSpec(), "open_s", "max_open_s"),
    ):
        given = _table(data, table)
        least = given.get(small, getattr(settings, small))
        most = given.get(large, getattr(settings, large))
        if _is_number(least) and _is_number(most) and least > most:
            yield (table, small if small in given else large), f"{small} at most {large}, {most}"


_CHECKS: tuple[Callable[[dict[str, Any]], Found], ...] = (
    _engine_count,
    discovery_faults,
    _unique_names,
    _listen_twice,
    loop_faults,
    _route_engines,
    _route_models,
    _qualities,
    _token_ranges,
    _tenants,
    tenant_faults,
    _adapter_policy,
    _headers_once,
    _number_pairs,
    _chat_templates,
    contract_faults,
    guard_faults,
)


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _names(data: dict[str, Any], key: str) -> list[str]:
    entries = tables(data, key)
    return [entry["name"] for _, entry in entries if isinstance(entry.get("name"), str)]


def _texts(table: dict[str, Any], key: str) -> Iterable[tuple[int, str]]:
    values = table.get(key)
    listed = values if isinstance(values, list) else []
    return [(i, value) for i, value in enumerate(listed) if isinstance(value, str)]


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _known(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1)
    known = ", ".join(dict.fromkeys(names)) or "none"
    return f'did you mean "{close[0]}"?' if close else f"known are {known}"
