"""Which engines there are, as one frozen value out of file, changes at runtime and discovery."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from proa.config.load import LoadedConfig
from proa.config.runtime_engine import read_engine
from proa.control.changes import Changes, read_changes
from proa.control.roster import Leaving, Roster, Sources, roster
from proa.control.state_file import StateFile
from proa.domain.fleet import EngineSpec
from proa.errors import ConfigError
from proa.telemetry.logs import Log

CHANGES = "engines"
DISCOVERED = "discovered"
"""Sections of the state file."""

Entries = Mapping[str, list[dict[str, Any]]]


class EngineBook(msgspec.Struct, frozen=True, kw_only=True):
    """`config` is as the file has it; `entries` are the discovered engines as they were told."""

    config: LoadedConfig
    changes: Changes = Changes()
    added: Mapping[str, EngineSpec] = {}
    found: Mapping[str, tuple[EngineSpec, ...]] = {}
    entries: Entries = {}
    leaving: Mapping[str, Leaving] = {}

    @property
    def sources(self) -> Sources:
        return Sources(
            file=self.config.gateway.engines,
            has_file=self.config.file is not None,
            added=self.added,
            found=self.found,
        )

    def roster(self) -> Roster:
        """The engines that take part."""
        return roster(self.sources, self.changes, self.leaving)

    def settings(self) -> LoadedConfig:
        """The settings that the programs get."""
        listed = self.roster()
        return self.config.with_engines(
            listed.engines, draining=listed.draining, groups=listed.groups
        )

    def but(self, **fields: Any) -> "EngineBook":
        """The same with other values in some fields."""
        return msgspec.structs.replace(self, **fields)


def open_book(config: LoadedConfig, state: StateFile, log: Log) -> EngineBook:
    """The book of a start: the file, and what the state file remembers."""
    changes = state.section(CHANGES, read_changes) or Changes()
    sources = {spec.name for spec in config.control.discovery}
    remembered: Entries = state.section(DISCOVERED, _read_entries) or {}
    entries = {name: list(told) for name, told in remembered.items() if name in sources}
    return forgetful(
        EngineBook(config=config, changes=changes, entries=entries),
        log,
    )


def forgetful(book: EngineBook, log: Log) -> EngineBook:
    """The book of a file that was read again: without changes that have lost their engine."""
    names = {spec.name for spec in book.config.control.discovery}
    in_file = {spec.name for spec in book.config.gateway.engines}
    entries = {name: told for name, told in book.entries.items() if name in names}
    found = {name: usable(told, name, book.config, log) for name, told in entries.items()}
    known = book.but(found=found).sources.names() | book.leaving.keys()
    changes = book.changes.forget(known, in_file)
    return book.but(
        changes=changes,
        added={spec.name: spec for spec in _usable_added(changes, book.config, log)},
        found=found,
        entries=entries,
    )


def save(book: EngineBook, state: StateFile) -> None:
    """Write what a restart must find again."""
    changed = book.changes != Changes()
    state.write(CHANGES, msgspec.to_builtins(book.changes) if changed else {})
    state.write(DISCOVERED, msgspec.to_builtins(book.entries))


def usable(
    entries: Iterable[dict[str, Any]], source: str, config: LoadedConfig, log: Log
) -> tuple[EngineSpec, ...]:
    """The engines of a discovery that can be used, each name once; the others are logged."""
    found: dict[str, EngineSpec] = {}
    rules = config.runtime_rules(by_api=False)
    for entry in entries:
        try:
            spec = read_engine(entry, source=f"discovery {source}", rules=rules)
        except ConfigError as error:
            name = str(entry.get("name"))
            log.event("error", "discovered engine not used", engine=name, error=str(error))
        else:
            found.setdefault(spec.name, spec)
    return tuple(found.values())


def _usable_added(changes: Changes, config: LoadedConfig, log: Log) -> Iterable[EngineSpec]:
    rules = config.runtime_rules(by_api=True)
    for name, entry in changes.added.items():
        try:
            yield read_engine(entry, source="added engine", rules=rules)
        except ConfigError as error:
            log.event("error", "added engine not used", engine=name, error=str(error))


def _read_entries(value: Any) -> Entries:
    return msgspec.convert(value, dict[str, list[dict[str, Any]]])
