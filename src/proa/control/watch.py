"""The watch over one engine: what to ask next, and the view that follows from the answers."""

import asyncio
from collections.abc import Callable

from proa.control.health import HealthTrack
from proa.control.kv_feed import KvFeed
from proa.control.load_track import POLLS_KEPT, LoadTrack
from proa.control.probing import Connect, Silence
from proa.control.self_report import SelfReport
from proa.control.traffic import EngineTraffic
from proa.domain.fleet import (
    AdapterView,
    EngineKind,
    EngineSpec,
    EngineState,
    EngineView,
    ModelView,
)
from proa.engines.adapters import ADAPTERS, DETECTION, detect
from proa.engines.base import Health, key_refused
from proa.engines.models import bare_model, same_models, with_contexts
from proa.engines.sources import Reply

MODELS_REFRESH_S = 5.0


class EngineWatch:
    """One engine's state over time; `view` is the newest, and the same object until it changes.

    `tells_load` is None until it has turned out whether the engine tells what it has to do.
    """

    def __init__(
        self, spec: EngineSpec, connect: Connect, clock: Callable[[], float], feed: KvFeed
    ) -> None:
        self.spec = spec
        self.feed = feed
        self.is_draining = False
        self.loads = LoadTrack()
        self.tells_load: bool | None = None
        self._load_misses = 0
        self._is_sleeping = False
        self._probe = connect(spec)
        self._report = SelfReport(spec, self._probe, connect, clock)
        self._clock = clock
        self._track = HealthTrack()
        self._kind = spec.kind  # AUTO until found out
        self._last_kind = spec.kind
        self._models: tuple[ModelView, ...] | None = None
        self._models_at_s = float("-inf")
        self._models_note = ""
        self._load_due_s = 0.0
        self._detail = ""
        self.view = self._build_view()

    def take(self, spec: EngineSpec) -> None:
        """Other words about the same engine, such as its TLS: what is known stays."""
        self.spec = spec
        self._probe.take(spec)
        self._report.take(spec)

    async def poll(self, traffic: Callable[[], EngineTraffic]) -> None:
        """Ask the engine once and bring `view` up to date.

        An engine that was ready is asked for health and load at one time, so that a slow
        answer to one does not make the other old.
        """
        if self._track.state is EngineState.READY and self._kind is not EngineKind.AUTO:
            (health, detail), _ = await asyncio.gather(self._examine(), self._ask_more(traffic))
        else:
            silence = await self._identify() if self._kind is EngineKind.AUTO else None
            health, detail = (silence.health, silence.detail) if silence else await self._examine()
            if health is Health.UP:
                await self._ask_more(traffic)
        self.observe(health, detail, traffic())

    def observe(self, health: Health, detail: str, traffic: EngineTraffic) -> None:
        """Take in what a poll has shown."""
        state = self._track.observe(health, traffic, self._clock())
        self._detail = self._models_note if state is EngineState.READY else detail
        if state is EngineState.UNREACHABLE:  # another program may come back under its address
            self._kind = self.spec.kind
            self._models_at_s = float("-inf")
        if state in (EngineState.UNREACHABLE, EngineState.LOADING):
            self._forget()
        self.refresh_view()

    @property
    def load_every_s(self) -> float:
        """Seconds between two looks at the load, at least."""
        return ADAPTERS[self._kind].load_every_s

    @property
    def load_note(self) -> str:
        """Why the load is not known, for a person."""
        return self._report.note

    def refresh_view(self) -> None:
        """Rebuild `view` after the specification or the draining changed."""
        view = self._build_view()
        if view != self.view:
            self.view = view

    async def close(self) -> None:
        """Close the connections to the engine."""
        await self.feed.close()
        await self._probe.close()
        await self._report.close()

    async def _identify(self) -> Silence | None:
        for probe in DETECTION:
            reply = await self._probe.ask(probe)
            if isinstance(reply, Silence):
                return reply
            kind = detect(probe, reply)
            if kind is not None:
                self._kind = self._last_kind = kind
                return None
            if reply.status >= 500:
                return Silence(Health.MISSED, f"{probe.path}: status {reply.status}")
        return None

    async def _examine(self) -> tuple[Health, str]:
        adapter = ADAPTERS[self._kind]
        reply = await self._probe.ask(adapter.health_probe)
        if isinstance(reply, Silence):
            return reply.health, reply.detail
        health = adapter.health(reply)
        if health is not Health.UP:
            return health, f"{adapter.health_probe.path}: status {reply.status}"
        if adapter.models_probe == adapter.health_probe:
            self._take_models(reply)
        elif self._clock() - self._models_at_s >= MODELS_REFRESH_S:
            models_reply = await self._probe.ask(adapter.models_probe)
            if isinstance(models_reply, Reply):
                self._take_models(models_reply)
        return health, ""

    async def _ask_more(self, traffic: Callable[[], EngineTraffic]) -> None:
        """What an engine tells of itself once it is up."""
        adapter = ADAPTERS[self._kind]
        await self._report.ask_facts(adapter)
        if self._clock() < self._load_due_s:
            return
        self._load_due_s = self._clock() + adapter.load_every_s
        own = traffic().in_flight
        load = await self._report.ask_load(adapter, self._models or ())
        if load is not None:
            self.loads.observe(load, max(own, traffic().in_flight))
            self._load_misses, self.tells_load = 0, True
            if load.is_sleeping is not None:
                self._is_sleeping = load.is_sleeping and not adapter.wakes_on_request
            return
        self._load_misses += 1
        if self._load_misses >= POLLS_KEPT and adapter.load_groups:
            self.tells_load = False

    def _forget(self) -> None:
        self.loads.forget()
        self._report.forget()
        self._is_sleeping = False
        self._load_misses, self.tells_load = 0, None

    def _state(self) -> EngineState:
        state = self._track.state
        if self.is_draining:
            return EngineState.DRAINING
        return EngineState.SLEEPING if self._is_sleeping and state is EngineState.READY else state

    def _take_models(self, reply: Reply) -> None:
        models = ADAPTERS[self._kind].models(reply)
        if models is None:
            hint = "; set api_key_env to the engine's key" if key_refused(reply) else ""
            self._models_note = f"models not listed: status {reply.status}{hint}"
            return
        self._models_note = ""
        self._models_at_s = self._clock()
        if self._models is None or not same_models(self._models, models):
            self._models = models

    def _build_view(self) -> EngineView:
        models, facts = self._served_models(), self._report.facts
        return EngineView(
            name=self.spec.name,
            kind=self._last_kind,
            state=self._state(),
            models=with_contexts(models or (), facts),
            models_known=models is not None,
            ready_since_s=self._track.ready_since_s,
            detail=self._detail,
            version=facts.version,
            max_running=facts.max_running,
            adapters=facts.adapters if facts.adapters is not None else _adapters(models),
            flags=facts.flags,
        )

    def _served_models(self) -> tuple[ModelView, ...] | None:
        """Configured names win; the engine's own cards are kept for those that it lists."""
        if not self.spec.models:
            return self._models
        cards = {model.id: model for model in self._models or ()}
        return tuple(cards.get(name) or bare_model(name) for name in self.spec.models)


def _adapters(models: tuple[ModelView, ...] | None) -> tuple[AdapterView, ...] | None:
    """The LoRA adapters in a list of models: those that name a parent."""
    found = tuple(AdapterView(m.id, m.parent) for m in models or () if m.parent is not None)
    return found or None
