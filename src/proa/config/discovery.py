"""`[[discovery]]`: which keys belong to which kind, and the settings that follow."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from proa.config.document import KeyPath
from proa.config.tables import DiscoveryTable, ProaTable
from proa.domain.discovery import DiscoverySpec
from proa.routing.spec import RouteSpec

_OF_ALL = {"name", "kind", "interval_s", "engine"}
_OF_KIND = {
    "dns": {"scheme", "address", "record"},
    "file": {"scheme", "path"},
    "kubernetes": {
        "scheme", "selector", "namespace", "port", "api_url", "token_file", "ca_file",
    },
}  # fmt: skip
_NEEDED = {"dns": "address", "file": "path", "kubernetes": "selector"}


def discovery_faults(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Keys that are missing or that a kind does not have, as `checks` tells them."""
    entries = data.get("discovery")
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, dict) and entry.get("kind") in _OF_KIND:
            yield from _of_one(index, entry)


def _of_one(index: int, entry: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    kind = str(entry["kind"])
    if _NEEDED[kind] not in entry:
        yield ("discovery", index, _NEEDED[kind]), f'kind = "{kind}" needs it'
    others = set[str]().union(*_OF_KIND.values()) - _OF_KIND[kind]
    for key in entry:
        if key in others:
            known = ", ".join(sorted(_OF_ALL | _OF_KIND[kind]))
            yield ("discovery", index, key), f'kind = "{kind}" has {known}'
    if kind == "dns" and entry.get("record") == "srv" and find_spec("dns") is None:
        told = '"a" without dnspython, which comes with proa\'s extra "dns"'
        yield ("discovery", index, "record"), told
    address = entry.get("address")
    if kind == "dns" and isinstance(address, str):
        is_srv = entry.get("record", "a") == "srv"
        if is_srv == (":" in address):
            wanted = "no port: the SRV record has it" if is_srv else "a port after a colon"
            yield ("discovery", index, "address"), wanted


def group_names(data: Mapping[str, Any]) -> list[str]:
    """Names by which routes may mean all engines of a source."""
    entries = data.get("discovery")
    return [
        entry["name"]
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    ]


def ungrouped(route: RouteSpec, groups: Mapping[str, tuple[str, ...]]) -> RouteSpec:
    """The route with the engines of a group in the group's place.

    A group without engines keeps its name, which no engine has: the route must not
    begin to mean all engines.
    """

    def members(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(member for name in names for member in groups.get(name) or (name,))

    prefer, overflow = members(route.prefer), members(route.overflow)
    return msgspec.structs.replace(route, prefer=prefer, overflow=overflow)


def discovery_specs(table: ProaTable, directory: Path) -> tuple[DiscoverySpec, ...]:
    """The sources; relative paths start at `directory`."""
    return tuple(_spec(entry, directory) for entry in table.discovery)


def _spec(entry: DiscoveryTable, directory: Path) -> DiscoverySpec:
    given = entry.model_dump(exclude_unset=True, exclude={"engine"})
    for key in ("path", "token_file", "ca_file"):
        if key in given:
            given[key] = str(directory / given[key])
    options = entry.engine.model_dump(exclude_unset=True, mode="json")
    return DiscoverySpec(**given, engine=options)
