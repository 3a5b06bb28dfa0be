"""What one engine tells of itself: its load at every poll, facts that rarely change less often.

Sources that an engine does not have are left out for a while, and the next of their
group is asked instead. Nothing here costs the engine a token, loads a model or wakes it.
"""

import asyncio
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from proa.control.probing import Connect, EngineProbe
from proa.domain.fleet import EngineSpec, ModelView
from proa.domain.load import EngineLoad
from proa.engines.base import EngineAdapter
from proa.engines.sources import (
    EngineFacts,
    FactSource,
    LoadSource,
    Probe,
    Reply,
    merged_facts,
    merged_load,
)

ABSENT_FOR_S = 30.0
EMPTY_FOR_S = 2.0
"""Some engines' pages are empty until their first request."""
_ABSENT = (400, 401, 403, 404, 405, 501)
Groups = tuple[tuple[LoadSource, ...], ...]


class SelfReport:
    """Asks one engine for load and facts.

    `facts` is the newest of all facts. `note` says why no load is known, for a person;
    empty while one is.
    """

    def __init__(
        self, spec: EngineSpec, probe: EngineProbe, connect: Connect, clock: Callable[[], float]
    ) -> None:
        self.facts = EngineFacts()
        self.note = ""
        self._has_answered = False
        self._probe = probe
        self._clock = clock
        self._metrics: EngineProbe | None = None
        self._metrics_path = ""
        if spec.metrics_url:
            self._metrics, self._metrics_path = _metrics_door(spec, connect)
        self._absent_until_s: dict[Probe | None, float] = {}
        self._facts_of: dict[FactSource, EngineFacts] = {}
        self._due_s: dict[FactSource, float] = {}

    def take(self, spec: EngineSpec) -> None:
        """Ask at the same places, with other TLS."""
        if self._metrics is not None:
            self._metrics.take(_metrics_spec(spec))

    def forget(self) -> None:
        """The engine went away; what comes back may be another one."""
        self.facts, self.note = EngineFacts(), ""
        self._absent_until_s.clear()
        self._facts_of.clear()
        self._due_s.clear()

    async def ask_facts(self, adapter: EngineAdapter) -> None:
        """Bring `facts` up to date; what might wake a sleeper is asked last, or not at all."""
        await self._ask_due([source for source in adapter.fact_sources if not source.wakes])
        if not self.facts.is_sleeping:
            await self._ask_due([source for source in adapter.fact_sources if source.wakes])

    async def ask_load(
        self, adapter: EngineAdapter, models: tuple[ModelView, ...]
    ) -> EngineLoad | None:
        """The load as of now, None when the engine does not tell it."""
        groups = adapter.groups_for(models)
        if self.facts.is_sleeping:
            groups = tuple(tuple(s for s in group if not s.wakes) for group in groups)
        parts = await asyncio.gather(*(self._ask_group(group) for group in groups if group))
        load = merged_load([part for part in parts if part is not None])
        if load is not None:
            self.note = ""
        elif self._has_answered and adapter.load_hint and adapter.load_hint not in self.note:
            self.note = f"{self.note}; {adapter.load_hint}"
        return self._completed(load)

    async def close(self) -> None:
        """Close the connections to where the metrics are."""
        if self._metrics is not None:
            await self._metrics.close()

    def _completed(self, load: EngineLoad | None) -> EngineLoad | None:
        """A load with what the facts add to it."""
        facts = self.facts
        if load is None:
            return EngineLoad(at_s=self._clock(), is_sleeping=True) if facts.is_sleeping else None
        sleeping = load.is_sleeping if load.is_sleeping is not None else facts.is_sleeping
        tokens = load.kv_tokens if load.kv_tokens is not None else facts.kv_tokens
        return msgspec.structs.replace(load, is_sleeping=sleeping, kv_tokens=tokens)

    async def _ask_group(self, group: Sequence[LoadSource]) -> EngineLoad | None:
        for source in group:
            if source.is_metrics and self._metrics is not None:
                load = await self._ask(self._metrics, Probe(self._metrics_path), source, None)
                if load is not None:
                    return load
            load = await self._ask(self._probe, source.probe, source, source.probe)
            if load is not None or not self._is_absent(source.probe):
                return load
        return None

    async def _ask(
        self, door: EngineProbe, probe: Probe, source: LoadSource, place: Probe | None
    ) -> EngineLoad | None:
        """One source at one place, unless the engine was found not to have it there."""
        if self._is_absent(place):
            return None
        reply = await door.ask(probe)
        self._has_answered = isinstance(reply, Reply)  # what is silent needs no other option
        if not isinstance(reply, Reply):
            self.note = f"{probe.path}: {reply.detail}"
            return None
        load = source.read(reply.body, self._clock()) if reply.status == 200 else None
        if load is None:
            told = f"status {reply.status}" if reply.status != 200 else "nothing known in it"
            self.note = f"{probe.path}: {told}"
            for_s = EMPTY_FOR_S if reply.status == 200 else ABSENT_FOR_S
            if reply.status == 200 or reply.status in _ABSENT:
                self._absent_until_s[place] = self._clock() + for_s
        return load

    def _is_absent(self, place: Probe | None) -> bool:
        return self._clock() < self._absent_until_s.get(place, 0.0)

    async def _ask_due(self, sources: Sequence[FactSource]) -> None:
        now_s = self._clock()
        due = [source for source in sources if now_s >= self._due_s.get(source, 0.0)]
        replies = await asyncio.gather(*(self._probe.ask(source.probe) for source in due))
        for source, reply in zip(due, replies, strict=True):
            body = reply.body if isinstance(reply, Reply) and reply.status == 200 else None
            facts = None if body is None else source.read(body)
            self._due_s[source] = now_s + (source.every_s if facts else ABSENT_FOR_S)
            if facts is not None:  # what does not answer once has said what it said before
                self._facts_of[source] = facts
        self.facts = merged_facts(list(self._facts_of.values()))


def _metrics_door(spec: EngineSpec, connect: Connect) -> tuple[EngineProbe, str]:
    """A connection to where `metrics_url` points, and the path there."""
    parts = urlsplit(spec.metrics_url)
    path = (parts.path or "/metrics") + (f"?{parts.query}" if parts.query else "")
    return connect(_metrics_spec(spec)), path


def _metrics_spec(spec: EngineSpec) -> EngineSpec:
    """The place of the metrics; the engine's key goes to its own port only."""
    parts, own = urlsplit(spec.metrics_url), urlsplit(spec.url)
    is_own = (own.scheme, own.netloc) == (parts.scheme, parts.netloc)
    return msgspec.structs.replace(
        spec,
        url=f"{parts.scheme}://{parts.netloc}",
        api_key=spec.api_key if is_own else "",
    )
