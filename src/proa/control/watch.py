"""The watch over one engine: what to ask next, and the view that follows from the answers."""

from collections.abc import Callable

from proa.control.health import HealthTrack
from proa.control.load_track import LoadTrack
from proa.control.probing import EngineProbe, Silence
from proa.control.traffic import EngineTraffic
from proa.domain.fleet import EngineKind, EngineSpec, EngineState, EngineView, ModelView
from proa.engines.adapters import ADAPTERS, DETECTION, detect
from proa.engines.base import Health, Reply, key_refused
from proa.engines.models import bare_model, same_models

MODELS_REFRESH_S = 5.0


class EngineWatch:
    """One engine's state over time; `view` is the newest, and the same object until it changes."""

    def __init__(self, spec: EngineSpec, probe: EngineProbe, clock: Callable[[], float]) -> None:
        self.spec = spec
        self.is_draining = False
        self.loads = LoadTrack()
        self._probe = probe
        self._clock = clock
        self._track = HealthTrack()
        self._kind = spec.kind  # AUTO until found out
        self._last_kind = spec.kind
        self._models: tuple[ModelView, ...] | None = None
        self._models_at_s = float("-inf")
        self._models_note = ""
        self._detail = ""
        self.view = self._build_view()

    async def poll(self, traffic: Callable[[], EngineTraffic]) -> None:
        """Ask the engine once and bring `view` up to date."""
        silence = await self._identify() if self._kind is EngineKind.AUTO else None
        health, detail = (silence.health, silence.detail) if silence else await self._examine()
        self.observe(health, detail, traffic())

    def observe(self, health: Health, detail: str, traffic: EngineTraffic) -> None:
        """Take in what a poll has shown."""
        state = self._track.observe(health, traffic, self._clock())
        self._detail = self._models_note if state is EngineState.READY else detail
        if state is EngineState.UNREACHABLE:  # another program may come back under its address
            self._kind = self.spec.kind
            self._models_at_s = float("-inf")
        self.refresh_view()

    def refresh_view(self) -> None:
        """Rebuild `view` after the specification or the draining changed."""
        view = self._build_view()
        if view != self.view:
            self.view = view

    async def close(self) -> None:
        """Close the connections to the engine."""
        await self._probe.close()

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
        models = self._served_models()
        return EngineView(
            name=self.spec.name,
            kind=self._last_kind,
            state=EngineState.DRAINING if self.is_draining else self._track.state,
            models=models or (),
            models_known=models is not None,
            ready_since_s=self._track.ready_since_s,
            detail=self._detail,
        )

    def _served_models(self) -> tuple[ModelView, ...] | None:
        """Configured names win; the engine's own cards are kept for those that it lists."""
        if not self.spec.models:
            return self._models
        cards = {model.id: model for model in self._models or ()}
        return tuple(cards.get(name) or bare_model(name) for name in self.spec.models)
