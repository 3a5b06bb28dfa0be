"""The engines while the gateway runs: every way in which they change, one change at a time."""

import asyncio
from typing import Any

import msgspec

from proa.cli.serve.engine_book import EngineBook, forgetful, save, usable
from proa.cli.serve.engine_parting import Parting
from proa.config.load import LoadedConfig
from proa.config.runtime_engine import read_change, read_engine
from proa.control.admin_errors import EngineConflict, UnknownEngine
from proa.control.changes import Changes
from proa.control.registry import Registry
from proa.control.roster import Leaving, difference, discovered_by
from proa.control.state_file import StateFile
from proa.domain.discovery import FoundEngine
from proa.domain.fleet import EngineSpec, EngineState
from proa.errors import ProaError
from proa.gateway.supervisor import Supervisor
from proa.telemetry.logs import Log

_LOOK_WITHIN_S = 1.5
_POLL_S = 0.01


class LiveEngines:
    """`config` are the settings in force, with all engines that take part.

    A new engine is looked at before it gets traffic. One that goes gets nothing new,
    finishes what it has, and only then leaves the settings.
    """

    def __init__(
        self,
        book: EngineBook,
        *,
        state: StateFile,
        supervisor: Supervisor,
        registry: Registry,
        log: Log,
    ) -> None:
        self.book = book
        self.config = book.settings()
        self.state = state
        self._supervisor = supervisor
        self._registry = registry
        self._log = log
        self._turn = asyncio.Lock()
        self._parting = Parting(supervisor, registry)
        self._leaves: dict[str, asyncio.Task[int]] = {}

    # proa.toml

    async def take(self, config: LoadedConfig) -> tuple[list[str], list[str]]:
        """Work with a file that was read again; changes at runtime stay.

        Returns warnings and notes.

        Raises:
            ProaError: it cannot be used; everything is as before.
        """
        async with self._turn:
            before = self.book
            book = forgetful(before.but(config=config), self._log)
            warnings = await self._apply(book)
            replaced = before.changes.added.keys() - book.changes.added.keys()
        notes = [
            f"engine {name!r} was added at runtime and is in the file now: the file's entry is used"
            for name in sorted(replaced)
        ]
        return warnings, notes + list(book.roster().notes)

    # one engine

    async def add(self, entry: dict[str, Any]) -> tuple[str, list[str], list[str]]:
        """An engine more; its name, warnings and notes.

        Raises:
            ConfigError: the entry is wrong.
            EngineConflict: there is one of this name.
        """
        rules = self.book.config.runtime_rules(by_api=True)
        spec = read_engine(entry, source="engine", rules=rules)
        async with self._turn:
            book, name = self.book, spec.name
            listed = book.roster()
            if name in listed.sources or name in listed.groups:
                there = "is leaving" if name in book.leaving else "is there already"
                raise EngineConflict(f"engine {name!r} {there}")
            notes = []
            if name in book.sources.names():
                changes = book.changes.bring_back(name)
                book = book.but(changes=changes)
                source = book.roster().sources[name]
                notes.append(f"engine {name!r} takes part again, with its entry of {source}")
            else:
                changes = book.changes.add(name, entry)
                book = book.but(changes=changes, added={**book.added, name: spec})
            warnings = await self._apply(book)
            self._log.event("info", "engine added", engine=name)
        return name, warnings, notes

    async def change(self, name: str, change: dict[str, Any]) -> list[str]:
        """Other numbers, or draining, for one engine; the warnings.

        Raises:
            ConfigError: the change is wrong.
            UnknownEngine, EngineConflict: there is none, or it is leaving.
        """
        given = read_change(change, source="change")
        async with self._turn:
            self._present(name)
            book = self.book.but(changes=self.book.changes.change(name, given))
            if given.keys() != {"draining"}:
                warnings = await self._apply(book)
            else:  # nothing but the view of the fleet changes
                self._registry.set_draining(name, draining=given["draining"])
                warnings = self._keep(book)
            self._log.event("info", "engine changed", engine=name, **given)
        return warnings

    async def remove(self, name: str, *, drain: bool, timeout_s: float | None) -> dict[str, Any]:
        """Take an engine out, by default when it has finished; how that went.

        Raises:
            UnknownEngine, EngineConflict: there is none, or it is leaving already.
        """
        async with self._turn:
            spec = self._present(name)
            book = self.book
            source = book.roster().sources[name]
            changes = book.changes.remove(name, remember=name in book.sources.names())
            rest = {key: other for key, other in book.added.items() if key != name}
            book = book.but(changes=changes, added=rest)
            warnings = self._let_go(book, [Leaving(spec, source)])
            default_s = self.config.gateway.limits.drain_timeout_s
            limit_s = (default_s if timeout_s is None else timeout_s) if drain else 0.0
            leaving = self._start_leave(name, limit_s)
        left = await asyncio.shield(leaving)
        return {
            "name": name,
            "removed": True,
            "drained": not left,
            "requests_left": left,
            "warnings": warnings,
        }

    # discovery

    async def found(self, source: str, engines: tuple[FoundEngine, ...]) -> None:
        """Take in what a discovery sees now; engines that it sees no more drain first."""
        async with self._turn:
            book = self.book
            spec = next((s for s in book.config.control.discovery if s.name == source), None)
            if spec is None:
                return
            entries = [engine.entry(spec) for engine in engines]
            seen = usable(entries, source, book.config, self._log)
            change = difference(book.found.get(source, ()), seen)
            roster = book.roster()
            gone = [
                Leaving(old, discovered_by(source))
                for old in change.went
                if roster.sources.get(old.name) == discovered_by(source)
                and old.name not in book.leaving
            ]
            book = book.but(
                found={**book.found, source: seen}, entries={**book.entries, source: entries}
            )
            self._let_go(self._stay(book, [s.name for s in change.came]), gone)
            if change.came or change.other:
                await self._apply(self.book)
            for left in gone:
                self._start_leave(left.spec.name, self.config.gateway.limits.total_timeout_s)
            self._log.event(
                "info",
                "discovery sees other engines",
                discovery=source,
                came=[s.name for s in change.came],
                went=[s.name for s in change.went],
            )

    async def close(self) -> None:
        """Wait for nobody any more."""
        for leave in self._leaves.values():
            leave.cancel()
        await asyncio.gather(*self._leaves.values(), return_exceptions=True)

    # inside

    def _present(self, name: str) -> EngineSpec:
        if name in self.book.leaving:
            raise EngineConflict(f"engine {name!r} is leaving")
        for spec in self.config.gateway.engines:
            if spec.name == name:
                return spec
        known = ", ".join(spec.name for spec in self.config.gateway.engines) or "none"
        raise UnknownEngine(f"there is no engine {name!r}; known are {known}")

    async def _apply(self, book: EngineBook) -> list[str]:
        """Give the planes a new set of engines; on an error the old one stays."""
        if self._supervisor.draining:
            raise EngineConflict("the gateway is draining")
        old, new = self.config.control, book.settings()
        names = {spec.name for spec in new.control.engines}
        parting = tuple(spec for spec in old.engines if spec.name not in names)
        union = msgspec.structs.replace(
            new.control,
            engines=new.control.engines + parting,
            draining=new.control.draining | {s.name for s in parting if s.name in old.draining},
        )
        known = {spec.name for spec in old.engines}
        self._registry.reload(union)
        try:
            await self._look([spec.name for spec in new.control.engines if spec.name not in known])
            warnings = await self._supervisor.reload(new.gateway)
        except ProaError:
            self._registry.reload(old)
            raise
        self._registry.reload(new.control)
        return [*warnings, *self._keep(book)]

    def _keep(self, book: EngineBook) -> list[str]:
        """From now on this is the book; what a restart would forget is a warning."""
        is_changed = book.changes not in (self.book.changes, Changes())
        self.book, self.config = book, book.settings()
        save(book, self.state)
        if self.state.problem:
            return [f"a restart will forget this: {self.state.problem}"]
        if is_changed and book.config.file is None:
            return ["a restart will forget this: the gateway was started without a proa.toml"]
        return []

    def _let_go(self, book: EngineBook, gone: list[Leaving]) -> list[str]:
        leaving = {**book.leaving, **{left.spec.name: left for left in gone}}
        warnings = self._keep(book.but(leaving=leaving))
        for left in gone:
            self._registry.set_draining(left.spec.name, draining=True)
            self._log.event("info", "engine leaves", engine=left.spec.name)
        return warnings

    def _stay(self, book: EngineBook, names: list[str]) -> EngineBook:
        """Engines that came back before they had left."""
        for name in names:
            if (leave := self._leaves.pop(name, None)) is not None:
                leave.cancel()
                self._registry.set_draining(name, draining=False)
        return book.but(leaving={n: left for n, left in book.leaving.items() if n not in names})

    def _start_leave(self, name: str, limit_s: float) -> asyncio.Task[int]:
        leave = self._leaves[name] = asyncio.create_task(self._leave(name, limit_s))
        leave.add_done_callback(lambda done: self._left(name, done))
        return leave

    async def _leave(self, name: str, limit_s: float) -> int:
        left = await self._parting.finished(name, limit_s)
        async with self._turn:
            rest = {key: other for key, other in self.book.leaving.items() if key != name}
            await self._apply(self.book.but(leaving=rest))
            self._log.event("info", "engine removed", engine=name, requests_left=left)
        return left

    def _left(self, name: str, done: asyncio.Task[int]) -> None:
        if self._leaves.get(name) is done:
            del self._leaves[name]
        if not done.cancelled() and (error := done.exception()) is not None:
            self._log.event("error", "engine not removed", engine=name, error=str(error))

    async def _look(self, names: list[str]) -> None:
        """Wait a short time until new engines were asked once, so that none gets traffic unseen."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _LOOK_WITHIN_S
        while loop.time() < until_s and any(map(self._is_unknown, names)):
            await asyncio.sleep(_POLL_S)

    def _is_unknown(self, name: str) -> bool:
        view = self._registry.fleet.engine(name)
        return view is not None and view.state is EngineState.UNKNOWN
