"""The loads of all engines as one view, published a moment after each answer."""

import asyncio
from collections.abc import Callable, Iterable

from proa.control.knowledge import Knowledge
from proa.control.load_track import age_limit_s
from proa.control.watch import EngineWatch
from proa.domain.fleet import EngineView
from proa.domain.load import EngineLoad, EngineLoadView, LoadView

PublishLoads = Callable[[LoadView], None]
_BUNDLED_SHARE = 0.1
_BUNDLED_S = 0.05
_VALID_LIMITS = 2


class LoadBoard:
    """Makes and publishes `LoadView`s.

    Answers that come within a tenth of the poll interval, at most 50 ms, go out as one
    view. `view` is the newest that was published.
    """

    def __init__(
        self,
        watches: Callable[[], Iterable[EngineWatch]],
        *,
        publish: PublishLoads,
        knowledge: Knowledge,
        clock: Callable[[], float],
        poll_interval_s: Callable[[], float],
    ) -> None:
        self._watches = watches
        self._publish = publish
        self._knowledge = knowledge
        self._clock = clock
        self._poll_interval_s = poll_interval_s
        self._due: asyncio.TimerHandle | None = None
        self.view = LoadView(0, ())

    def answered(self) -> None:
        """A poll of an engine has ended, with or without an answer."""
        if self._due is None:
            loop = asyncio.get_running_loop()
            wait_s = min(self._poll_interval_s() * _BUNDLED_SHARE, _BUNDLED_S)
            self._due = loop.call_later(wait_s, self.publish)

    def publish(self) -> None:
        """Make a view of now and give it away."""
        self.close()
        now_s, every_s = self._clock(), self._poll_interval_s()
        engines = tuple(
            self._engine(watch, now_s, age_limit_s(max(every_s, watch.load_every_s)))
            for watch in self._watches()
        )
        expires_s = now_s + _VALID_LIMITS * age_limit_s(every_s)
        use = self._knowledge.limit_use()
        self.view = LoadView(self.view.sequence + 1, engines, expires_s, use)
        self._publish(self.view)

    def close(self) -> None:
        """Publish nothing more of what has been answered."""
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _engine(self, watch: EngineWatch, now_s: float, limit_s: float) -> EngineLoadView:
        spec, engine = watch.spec, watch.view
        load = watch.loads.load_at(now_s, limit_s)
        plateau = watch.loads.plateau.cap
        return EngineLoadView(
            name=spec.name,
            load=load,
            foreign=watch.loads.foreign_at(now_s, limit_s) or 0,
            max_concurrent=max_concurrent(
                spec.max_concurrent_requests, _stated(engine, load), plateau
            ),
            timing=self._knowledge.timing(spec, engine),
            cache=watch.feed.track.view,
        )


def _stated(engine: EngineView, load: EngineLoad | None) -> int | None:
    """How many requests the engine says that it takes: now, or at its start."""
    now = load.max_running if load is not None else None
    return engine.max_running if now is None else now


def max_concurrent(configured: int, stated: int | None, plateau: int | None) -> int | None:
    """The cap on requests at one time: as configured, else the lower of stated and observed."""
    if configured:
        return configured
    return min((cap for cap in (stated, plateau) if cap is not None), default=None)
