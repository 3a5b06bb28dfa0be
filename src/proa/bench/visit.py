"""One visit of a level: the load is begun, watched until it is enough, and summed up."""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from proa.bench.crew import Crew
from proa.bench.decode import VisitLabel, decoded
from proa.bench.health import ClientHealth, client_health
from proa.bench.listener import RunListener
from proa.bench.process_messages import Begin, Ended, Over, Tick
from proa.bench.sample import RequestSample
from proa.bench.window import Cause, LevelWatch, LevelWindow, WindowSpec
from proa.errors import UpstreamError

Enough = Callable[[Sequence[RequestSample]], bool]
"""Whether the measured requests so far settle the level; asked as they end, in that order."""
Progress = Callable[["VisitProgress"], None]


class VisitProgress(msgspec.Struct, frozen=True, kw_only=True):
    """For who looks on: `measured` is None in the warm-up."""

    label: VisitLabel
    at_s: float
    on_wire: int
    ended: int
    failed: int
    measured: int | None


class VisitResult(msgspec.Struct, frozen=True, kw_only=True):
    """All samples of a visit by the order of their sending, its window, and its client."""

    label: VisitLabel
    samples: list[RequestSample]
    window: LevelWindow
    client: ClientHealth
    next_number: int


class Visit:
    """Seconds are the run's: `origin_s` of the monotonic clock is its zero."""

    def __init__(
        self,
        begin: Begin,
        label: VisitLabel,
        window: WindowSpec,
        *,
        origin_s: float,
        enough: Enough | None = None,
        listener: RunListener | None = None,
    ) -> None:
        self._begin = begin
        self._label = label
        self._window = window
        self._origin_s = origin_s
        self._enough = enough
        self._listener = listener or RunListener()
        self._targets = tuple(load.target.name for load in begin.targets)
        self._samples: list[RequestSample] = []
        self._counting: list[RequestSample] = []
        self._ticks: list[Tick] = []
        self._next_number = begin.first_number
        self._watch: LevelWatch | None = None
        self._interrupted = False

    def interrupt(self) -> None:
        """End at once and keep what was measured."""
        self._interrupted = True

    async def run(self, crew: Crew, progress: Progress | None = None) -> VisitResult:
        """Load until it is enough.

        Raises:
            UpstreamError: a target takes no connection.
            ClientLostError: a client process ended.
        """
        self._watch = watch = LevelWatch(
            self._window,
            begin_s=self._begin.begin_s - self._origin_s,
            users=self._begin.load.users,
            shares=crew.processes,
        )
        crew.begin(self._begin)
        stopped = False
        async for message in crew.messages():
            if isinstance(message, Ended):
                self._ended(message, watch)
            elif isinstance(message, Tick):
                self._tick(message, watch, progress)
            else:
                self._over(message, crew)
            if watch.window is not None and not stopped:
                stopped = True
                crew.stop()
            await asyncio.sleep(0)  # pulses go between two answers that are read
        if watch.window is None:
            watch.load_over(time.monotonic() - self._origin_s)
        assert watch.window is not None
        return self._result(watch.window)

    def _ended(self, message: Ended, watch: LevelWatch) -> None:
        self._listener.raw(message.raw)
        sample = decoded(message.raw, self._label, self._targets, origin_s=self._origin_s)
        self._samples.append(sample)
        self._listener.sample(sample)
        if sample.is_stopped or watch.window is not None:
            return
        end_s = message.raw.ended_s - self._origin_s
        if watch.ended(sample.user, sent_s=sample.sent_s, end_s=end_s):
            self._counting.append(sample)
            if self._enough is not None and self._enough(self._counting):
                watch.cut(end_s, Cause.ENOUGH)

    def _tick(self, tick: Tick, watch: LevelWatch, progress: Progress | None) -> None:
        tick = msgspec.structs.replace(
            tick,
            at_s=tick.at_s - self._origin_s,
            oldest_sent_s=None
            if tick.oldest_sent_s is None
            else tick.oldest_sent_s - self._origin_s,
        )
        self._ticks.append(tick)
        self._listener.tick(tick)
        if self._interrupted:
            watch.cut(tick.at_s, Cause.INTERRUPTED)
        watch.tick(tick.share, at_s=tick.at_s, oldest_sent_s=tick.oldest_sent_s)
        if progress is not None and tick.share == 0:
            progress(self._progress(tick, watch))

    def _over(self, message: Over, crew: Crew) -> None:
        self._next_number = max(self._next_number, message.next_number)
        if message.error:
            crew.stop()
            raise UpstreamError(f"{', '.join(self._targets)}: {message.error}")

    def _progress(self, tick: Tick, watch: LevelWatch) -> VisitProgress:
        latest = {t.share: t.on_wire for t in self._ticks[-16:]}
        return VisitProgress(
            label=self._label,
            at_s=tick.at_s,
            on_wire=sum(latest.values()),
            ended=len(self._samples),
            failed=sum(s.failure is not None for s in self._samples),
            measured=None if watch.start_s is None else watch.measured,
        )

    def _result(self, window: LevelWindow) -> VisitResult:
        return visit_result(
            self._label, self._samples, self._ticks, window, next_number=self._next_number
        )


def visit_result(
    label: VisitLabel,
    samples: Sequence[RequestSample],
    ticks: Sequence[Tick],
    window: LevelWindow,
    *,
    next_number: int,
) -> VisitResult:
    """A visit of what was seen of it, in the order in which it came."""
    ordered = sorted(samples, key=lambda sample: sample.sent_s)
    marked = [_marked(sample, window) for sample in ordered]
    return VisitResult(
        label=label,
        samples=marked,
        window=window,
        client=client_health(ticks, marked, start_s=window.start_s, end_s=window.end_s),
        next_number=next_number,
    )


def _marked(sample: RequestSample, window: LevelWindow) -> RequestSample:
    if sample.sent_s < window.start_s:
        return msgspec.structs.replace(sample, is_warmup=True)
    if not window.measures(sample.sent_s):
        return msgspec.structs.replace(sample, is_filler=True)
    return sample
