"""Which engines there are: the file's, those added at runtime, those discovered, changed."""

from collections.abc import Iterable, Mapping

import msgspec

from proa.control.changes import Changes
from proa.domain.fleet import EngineSpec

FILE = "file"
COMMAND_LINE = "command line"
ADMIN = "admin"


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where engines come from, each kind by itself; `found` by the discovery's name.

    Without a `has_file` the command line has given those of `file`.
    """

    file: tuple[EngineSpec, ...]
    has_file: bool = True
    added: Mapping[str, EngineSpec] = {}
    found: Mapping[str, tuple[EngineSpec, ...]] = {}

    def names(self) -> set[str]:
        """The names that the file or a discovery has."""
        found = (engine for engines in self.found.values() for engine in engines)
        return {engine.name for engine in (*self.file, *found)}


class Leaving(msgspec.Struct, frozen=True):
    """An engine that finishes what it has, and where it came from."""

    spec: EngineSpec
    source: str


class Roster(msgspec.Struct, frozen=True, kw_only=True):
    """The engines of one moment; `groups` are a discovery's engines by its name."""

    engines: tuple[EngineSpec, ...]
    sources: dict[str, str]
    draining: frozenset[str]
    groups: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def roster(sources: Sources, changes: Changes, leaving: Mapping[str, Leaving]) -> Roster:
    """All engines that take part.

    Of two with one name the file's goes before an added one, and that before a
    discovered one; `notes` tell it. Removed engines take no part, those that are
    `leaving` do, draining, until they have finished.
    """
    engines: dict[str, EngineSpec] = {}
    origin: dict[str, str] = {}
    notes: list[str] = []
    for source, spec in _in_order(sources):
        if spec.name in leaving or spec.name in changes.removed:
            continue
        if spec.name in engines:
            there = origin[spec.name]
            notes.append(f"engine {spec.name!r} of {source} is not used: {there} has it too")
            continue
        engines[spec.name] = _changed(spec, changes)
        origin[spec.name] = source
    for name, left in leaving.items():
        engines[name] = _changed(left.spec, changes)
        origin[name] = left.source
    drained = {name for name, change in changes.changed.items() if change.draining}
    return Roster(
        engines=tuple(engines.values()),
        sources=origin,
        draining=frozenset(engines.keys() & (drained | leaving.keys())),
        groups={name: _members(name, origin) for name in sources.found},
        notes=tuple(notes),
    )


def _in_order(sources: Sources) -> Iterable[tuple[str, EngineSpec]]:
    yield from ((FILE if sources.has_file else COMMAND_LINE, spec) for spec in sources.file)
    yield from ((ADMIN, spec) for spec in sources.added.values())
    for name, found in sources.found.items():
        yield from ((discovered_by(name), spec) for spec in found)


def discovered_by(name: str) -> str:
    """The source of the engines of one `[[discovery]]`."""
    return f"discovery {name}"


def _members(group: str, origin: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name, source in origin.items() if source == discovered_by(group))


def _changed(spec: EngineSpec, changes: Changes) -> EngineSpec:
    change = changes.changed.get(spec.name)
    if change is None:
        return spec
    weight, cap = change.weight, change.max_concurrent_requests
    return msgspec.structs.replace(
        spec,
        weight=spec.weight if weight is None else weight,
        max_concurrent_requests=spec.max_concurrent_requests if cap is None else cap,
    )


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What another look at a source means for its engines."""

    came: tuple[EngineSpec, ...]
    went: tuple[EngineSpec, ...]
    other: tuple[EngineSpec, ...]

    def __bool__(self) -> bool:
        return bool(self.came or self.went or self.other)


def difference(before: Iterable[EngineSpec], after: Iterable[EngineSpec]) -> Difference:
    """Engines that came, that went, and that have the same name and say something else."""
    old, new = {spec.name: spec for spec in before}, {spec.name: spec for spec in after}
    return Difference(
        came=tuple(spec for name, spec in new.items() if name not in old),
        went=tuple(spec for name, spec in old.items() if name not in new),
        other=tuple(spec for name, spec in new.items() if name in old and old[name] != spec),
    )
