"""What the admin API does and says, out of the live engines and the gateway's status."""

from collections.abc import Awaitable, Callable
from typing import Any

from proa.cli.serve.discovery_doors import Discoveries
from proa.cli.serve.live_engines import LiveEngines
from proa.control.roster import Roster
from proa.control.status import status_document
from proa.domain.fleet import EngineSpec
from proa.telemetry.process import GatewayView

Json = dict[str, Any]
Reload = Callable[[], Awaitable[tuple[list[str], list[str]]]]


class AdminDesk:
    """`reload` reads proa.toml again and gives warnings and notes, or raises why it cannot."""

    def __init__(
        self,
        live: LiveEngines,
        discoveries: Discoveries,
        *,
        view: Callable[[], GatewayView],
        reload: Reload,
    ) -> None:
        self._live = live
        self._discoveries = discoveries
        self._view = view
        self._reload = reload

    def fleet(self) -> Json:
        """All engines, as they are told in `FleetDocument`."""
        listed, state = self._live.book.roster(), self._live.state
        return {
            "generation": self._generation,
            "state_file": None if state.path is None else str(state.path),
            "state_error": state.problem or None,
            "engines": self._engines(listed),
            "discovery": self._discoveries.told(listed.groups),
            "notes": list(listed.notes),
        }

    async def add(self, entry: Json) -> Json:
        name, warnings, notes = await self._live.add(entry)
        return self._changed(name, warnings, notes)

    async def change(self, name: str, change: Json) -> Json:
        return self._changed(name, await self._live.change(name, change), [])

    async def remove(self, name: str, *, drain: bool, timeout_s: float | None) -> Json:
        told = await self._live.remove(name, drain=drain, timeout_s=timeout_s)
        return told | {"generation": self._generation, "notes": []}

    async def reload(self) -> Json:
        warnings, notes = await self._reload()
        file = self._live.config.file
        return {
            "reloaded": True,
            "file": None if file is None else str(file),
            "generation": self._generation,
            "warnings": warnings,
            "notes": notes,
        }

    @property
    def _generation(self) -> int:
        return self._view().process.generation

    def _changed(self, name: str, warnings: list[str], notes: list[str]) -> Json:
        engines = self._engines(self._live.book.roster())
        return {
            "engine": next(engine for engine in engines if engine["name"] == name),
            "generation": self._generation,
            "warnings": warnings,
            "notes": notes,
        }

    def _engines(self, listed: Roster) -> list[Json]:
        status: Any = status_document(self._view())["engines"]
        known: dict[str, Json] = {engine["name"]: engine for engine in status}
        return [known.get(spec.name, {}) | self._entry(spec, listed) for spec in listed.engines]

    def _entry(self, spec: EngineSpec, listed: Roster) -> Json:
        book = self._live.book
        change = book.changes.changed.get(spec.name)
        return {
            "name": spec.name,
            "url": spec.url,
            "source": listed.sources[spec.name],
            "server": spec.server,
            "weight": spec.weight,
            "max_concurrent_requests": spec.max_concurrent_requests,
            "draining": spec.name in listed.draining,
            "leaving": spec.name in book.leaving,
            "changed": [] if change is None else change.keys,
        }
