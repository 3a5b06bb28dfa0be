"""The registry of engines: watches all of them at once and publishes what it learns."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from proa.control.knowledge import Knowledge
from proa.control.kv_feed import KvFeed
from proa.control.load_board import LoadBoard
from proa.control.probing import Connect, EngineProbe
from proa.control.settings import ControlSettings
from proa.control.watch import EngineWatch
from proa.domain.fleet import EngineSpec, EngineState, EngineView, FleetView
from proa.domain.load import LoadView
from proa.engines.base import Health
from proa.telemetry.logs import Log

_MODELS_IN_LOG = 20
_WORTH_TELLING = ((None, False), (True, False), (False, True))
"""Changes of whether an engine tells its load, from and to; that it does needs no word."""


class Audience(Protocol):
    """Who is given the views: a supervisor passes them on to its workers."""

    def publish(self, view: FleetView) -> None: ...

    def publish_loads(self, view: LoadView) -> None: ...


class Registry:
    """Polls each engine in a task of its own, so that a hung one holds up no other.

    `fleet` is the newest view; the audience is given each new one, and only when
    something changed. The first view, all engines unknown, is there from the start and
    is not published. A log line is written per change of state, not per poll.
    `loads` is the newest view of what engines have to do; those are published at every
    poll, with what `knowledge` has of each engine.
    """

    def __init__(
        self,
        settings: ControlSettings,
        *,
        audience: Audience,
        log: Log,
        knowledge: Knowledge | None = None,
        connect: Connect = EngineProbe,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._audience = audience
        self._log = log
        self._knowledge = knowledge or Knowledge()
        self._connect = connect
        self._clock = clock
        self._is_started = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: set[asyncio.Task[None]] = set()
        self._watches = {spec.name: self._new_watch(spec) for spec in settings.engines}
        self.fleet = FleetView(1, self._views())
        self._board = LoadBoard(
            lambda: self._watches.values(),  # noqa: PLW0108 -- a reload makes another dictionary
            publish=audience.publish_loads,
            knowledge=self._knowledge,
            clock=clock,
            poll_interval_s=lambda: self._settings.poll_interval_s,
        )

    @property
    def loads(self) -> LoadView:
        return self._board.view

    def refresh_loads(self) -> None:
        """Publish the loads anew: something is known that no poll has brought."""
        self._board.answered()

    def start(self) -> None:
        """Begin to poll; needs a running event loop."""
        self._is_started = True
        for name, watch in self._watches.items():
            if name not in self._tasks:
                self._tasks[name] = asyncio.create_task(self._keep_polling(watch))

    def reload(self, settings: ControlSettings) -> None:
        """Watch the engines of new settings; those that stay keep their state."""
        self._settings = settings
        old, self._watches = self._watches, {}
        for spec in settings.engines:
            watch = old.get(spec.name)
            if watch is None or not _is_same_engine(watch.spec, spec):
                watch = self._new_watch(spec)
            watch.take(spec)
            watch.is_draining = spec.name in settings.draining
            watch.refresh_view()
            self._watches[spec.name] = watch
        for name, watch in old.items():
            if self._watches.get(name) is not watch:
                self._end(name)
        if self._is_started:
            self.start()
            self._board.publish()
        self._publish_if_changed()

    def set_draining(self, name: str, *, draining: bool) -> None:
        """Give an engine no new request, or take that back.

        Raises:
            KeyError: there is no engine of that name.
        """
        watch = self._watches[name]
        before = watch.view
        watch.is_draining = draining
        watch.refresh_view()
        self._tell(before, watch.view)
        self._publish_if_changed()

    async def close(self) -> None:
        """Stop polling and close all connections to engines."""
        for name in list(self._tasks):
            self._end(name)
        await asyncio.gather(*self._ended, return_exceptions=True)
        self._board.close()

    async def poll(self, name: str) -> None:
        """Ask one engine now, publish and log what changed."""
        await self._poll(self._watches[name])

    async def _keep_polling(self, watch: EngineWatch) -> None:
        watch.feed.start()
        try:
            while True:
                began_s = self._clock()
                await self._poll(watch)
                took_s = self._clock() - began_s
                await asyncio.sleep(max(0.0, self._settings.poll_interval_s - took_s))
        finally:
            await watch.close()

    async def _poll(self, watch: EngineWatch) -> None:
        before, told_load = watch.view, watch.tells_load
        try:
            await watch.poll(lambda: self._knowledge.traffic(watch.spec.name))
        except Exception as fault:  # ours: it must not end the watch over the engine
            detail = f"fault of proa: {fault!r}"
            if before.detail != detail:
                self._log.event("error", "a probe failed", engine=before.name, detail=detail)
            watch.observe(Health.MISSED, detail, self._knowledge.traffic(before.name))
        if self._watches.get(before.name) is watch and watch.view is not before:
            self._tell(before, watch.view)
            self._publish_if_changed()
        if (told_load, watch.tells_load) in _WORTH_TELLING:
            self._tell_load(watch)
        self._board.answered()

    def _tell_load(self, watch: EngineWatch) -> None:
        """Log that an engine's load is known now, or not any more; not at every poll."""
        known = bool(watch.tells_load)
        self._log.event(
            "info" if known else "warning",
            "engine tells its load" if known else "engine's load is not known",
            engine=watch.spec.name,
            detail=None if known else watch.load_note,
        )

    def _new_watch(self, spec: EngineSpec) -> EngineWatch:
        watch = EngineWatch(spec, self._connect, self._clock, KvFeed(spec, self._log))
        watch.is_draining = spec.name in self._settings.draining
        watch.refresh_view()
        return watch

    def _end(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            self._ended.add(task)
            task.add_done_callback(self._ended.discard)

    def _views(self) -> tuple[EngineView, ...]:
        return tuple(watch.view for watch in self._watches.values())

    def _publish_if_changed(self) -> None:
        views = self._views()
        if views != self.fleet.engines:
            self.fleet = FleetView(self.fleet.sequence + 1, views)
            self._audience.publish(self.fleet)

    def _tell(self, before: EngineView, after: EngineView) -> None:
        """Log a change of state or of models."""
        is_new_state = before.state is not after.state
        if not is_new_state and before.models == after.models:
            return
        self._log.event(
            "warning" if after.state is EngineState.UNREACHABLE else "info",
            f"engine is {after.state}" if is_new_state else "engine lists other models",
            engine=after.name,
            kind=after.kind,
            detail=after.detail or None,
            models=[model.id for model in after.models[:_MODELS_IN_LOG]],
        )


def _is_same_engine(old: EngineSpec, new: EngineSpec) -> bool:
    return _address(old) == _address(new)


def _address(spec: EngineSpec) -> tuple[object, ...]:
    return (spec.url, spec.kind, spec.api_key, spec.metrics_url, spec.kv_events)
