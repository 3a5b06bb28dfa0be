"""`[guard]` and the words of routes and tenants on it: what they name must exist."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from proa.config.discovery import group_names
from proa.config.document import KeyPath
from proa.config.tables import GuardTable, GuardWordsTable, ProaTable
from proa.errors import FieldError
from proa.gateway.settings import GatewaySettings
from proa.guard.detectors import Detector, DetectorSpec
from proa.guard.limits import check_pattern
from proa.guard.policy import GuardSettings, GuardSpec
from proa.guard.types import TYPES

Found = Iterator[tuple[KeyPath, str]]
_LISTS = ("keep_on", "blocked_patterns", "allowed_tools")
_NEEDED = '[guard] is needed; with mode = "off" it leaves all others alone'


def guard_settings(table: ProaTable) -> dict[str, Any]:
    """The fields of `GatewaySettings` that have to do with the guard."""
    if table.guard is None:
        return {}
    return {
        "guard": _settings(table.guard),
        "route_guards": {r.name: _spec(r.guard) for r in table.routes if r.guard is not None},
        "tenant_guards": {t.name: _spec(t.guard) for t in table.tenants if t.guard is not None},
    }


def _settings(table: GuardTable) -> GuardSettings:
    given = _given(table, but={"detectors"})
    detectors = [each.model_dump(exclude_unset=True) for each in table.detectors or ()]
    return GuardSettings(**given, detectors=tuple(map(_detector, detectors)))


def _spec(table: GuardWordsTable) -> GuardSpec:
    return GuardSpec(**_given(table))


def _given(table: GuardWordsTable, *, but: set[str] | None = None) -> dict[str, Any]:
    given = table.model_dump(exclude_unset=True, exclude=but)
    return given | {key: tuple(given[key]) for key in _LISTS if key in given}


def _detector(given: dict[str, Any]) -> DetectorSpec:
    return DetectorSpec(**given | {"context": tuple(given.get("context", ()))})


def without_groups(
    settings: GatewaySettings, groups: Mapping[str, tuple[str, ...]]
) -> GatewaySettings:
    """`keep_on` with the engines of a discovery in its place; one without any keeps its name."""

    def members(spec: GuardSpec) -> GuardSpec:
        if spec.keep_on is None:
            return spec
        names = tuple(each for name in spec.keep_on for each in groups.get(name) or (name,))
        return msgspec.structs.replace(spec, keep_on=names)

    if settings.guard is None or not groups:
        return settings
    return msgspec.structs.replace(
        settings,
        guard=members(settings.guard),
        route_guards={name: members(spec) for name, spec in settings.route_guards.items()},
        tenant_guards={name: members(spec) for name, spec in settings.tenant_guards.items()},
    )


def guard_faults(data: Mapping[str, Any]) -> Found:
    """Names that do not exist and patterns that cannot be searched in linear time."""
    own = [
        entry["name"] for _, entry in _entries(_table(data, "guard"), "detectors")
        if isinstance(entry.get("name"), str)
    ]  # fmt: skip
    engines = [e["name"] for _, e in _entries(data, "engines") if isinstance(e.get("name"), str)]
    for path, words in _levels(data):
        if "guard" not in data:
            yield path, _NEEDED
        yield from _words(path, words, [*sorted(TYPES), *own], [*engines, *group_names(data)])
    for index, route in _entries(data, "routes"):
        if "pii" in _table(route, "match") and "guard" not in data:
            yield ("routes", index, "match", "pii"), _NEEDED
    yield from _detectors(_table(data, "guard"))


def _levels(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    if isinstance(data.get("guard"), dict):
        yield ("guard",), data["guard"]
    for key in ("routes", "tenants"):
        for index, entry in _entries(data, key):
            if isinstance(entry.get("guard"), dict):
                yield (key, index, "guard"), entry["guard"]


def _words(path: KeyPath, words: Mapping[str, Any], types: list[str], engines: list[str]) -> Found:
    for type_ in _table(words, "types"):
        if type_ not in types:
            yield (*path, "types", type_), f"no type has this name; {_nearest(type_, types)}"
    for place, name in _texts(words, "keep_on"):
        if name not in engines:
            told = _nearest(name, engines)
            yield (*path, "keep_on", place), f"no engine has this name; {told}"
    for place, pattern in _texts(words, "blocked_patterns"):
        fault = _refused(lambda pattern=pattern: check_pattern(pattern, "pattern"))  # type: ignore[misc]
        if fault is not None:
            yield (*path, "blocked_patterns", place), fault.accepted


def _detectors(guard: Mapping[str, Any]) -> Found:
    seen: dict[str, int] = {}
    for index, entry in _entries(guard, "detectors"):
        path: KeyPath = ("guard", "detectors", index)
        name, pattern = entry.get("name"), entry.get("pattern")
        if not isinstance(name, str) or not isinstance(pattern, str):
            continue
        if seen.setdefault(name, index) != index:
            yield (*path, "name"), f"guard.detectors[{seen[name]}] has the same"
        checksum = entry.get("checksum")
        spec = DetectorSpec(
            name=name, pattern=pattern, checksum=checksum if isinstance(checksum, str) else None
        )
        fault = _refused(lambda spec=spec: Detector(spec))  # type: ignore[misc]
        if fault is not None:
            yield (*path, fault.field), fault.accepted


def _refused(check: Callable[[], object]) -> FieldError | None:
    try:
        check()
    except FieldError as fault:
        return fault
    return None


def _nearest(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=3)
    if close:
        return "did you mean " + " or ".join(f'"{each}"' for each in close) + "?"
    return f"known are {', '.join(names) or 'none'}"


def _entries(table: Mapping[str, Any], key: str) -> list[tuple[int, dict[str, Any]]]:
    listed = table.get(key)
    entries = listed if isinstance(listed, list) else []
    return [(i, entry) for i, entry in enumerate(entries) if isinstance(entry, dict)]


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _texts(table: Mapping[str, Any], key: str) -> list[tuple[int, str]]:
    values = table.get(key)
    listed = values if isinstance(values, list) else []
    return [(i, value) for i, value in enumerate(listed) if isinstance(value, str)]
