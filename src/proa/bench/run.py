"""A run: targets are prepared, the client proves itself, levels are visited one by one.

Which level comes next, and when a level is settled, are functions given by the caller.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import msgspec

from proa.bench.calibration import prepare
from proa.bench.conditions import RunConditions, conditions_of
from proa.bench.crew import Crew
from proa.bench.decode import VisitLabel
from proa.bench.engine_counters import cache_between, read_engine
from proa.bench.gauge_stats import GaugeSample
from proa.bench.gauges import GaugeWatch
from proa.bench.level_search import level_search
from proa.bench.levels import CacheStats, LevelStats, level_stats
from proa.bench.listener import RunListener
from proa.bench.process_messages import Begin, LoadSpec, TargetLoad
from proa.bench.run_spec import LevelSpec, NextLevel, RunSpec, in_order, visits_of
from proa.bench.self_check import SelfCheck, self_check
from proa.bench.slo import SloSpec
from proa.bench.target import any_tls
from proa.bench.visit import Enough, Progress, Visit, VisitResult
from proa.bench.window import Cause
from proa.bench.workloads import repeated_share
from proa.domain.load import EngineLoad

Engines = Sequence[EngineLoad | None]
"""What each target told of its load, None where it told nothing."""

_LEAD_S = 0.3
_OPEN_LOOP_USERS = 32
_UNKNOWN_SPEED = 60.0


class LevelVisit(msgspec.Struct, frozen=True, kw_only=True):
    """One visit with its numbers and all that they come from."""

    level: LevelSpec
    stats: LevelStats
    result: VisitResult


class RunStart(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the first level; `check` is None where none was asked."""

    spec: RunSpec
    targets: list[TargetLoad]
    check: SelfCheck | None
    conditions: RunConditions


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run measured.

    `stopped` says why it ended before its plan did, None where it did not. `drift` is the
    change of the mean TPOT from the first visit of a level to its last, as a share.
    """

    start: RunStart
    visits: list[LevelVisit]
    gauges: list[GaugeSample] = []
    stopped: Cause | None = None
    drift: float | None = None

    @property
    def spec(self) -> RunSpec:
        return self.start.spec

    @property
    def targets(self) -> list[TargetLoad]:
        return self.start.targets

    @property
    def check(self) -> SelfCheck | None:
        return self.start.check


class BenchRun:
    """Runs `spec` once."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        next_level: NextLevel | None = None,
        enough: Callable[[LevelSpec], Enough | None] = lambda _: None,
        on_progress: Progress | None = None,
        listener: RunListener | None = None,
    ) -> None:
        self._spec = spec
        search = level_search(spec)
        if search is not None:
            next_level, enough = next_level or search.next_level, search.enough
        self._next_level = next_level or in_order(visits_of(spec))
        self._enough = enough
        self._on_progress = on_progress
        self._listener = listener or RunListener()
        self._gauges: list[GaugeSample] = []
        self._visit: Visit | None = None
        self._stopped: Cause | None = None
        self._visits: list[LevelVisit] = []
        self._next_number = 0
        self._begun_s = time.monotonic()

    def interrupt(self) -> None:
        """End the run now; what was measured is kept."""
        self._stopped = Cause.INTERRUPTED
        if self._visit is not None:
            self._visit.interrupt()

    async def run(self) -> RunResult:
        """Raises UpstreamError: a target cannot be used, or told no metric that the SLO bounds."""
        spec = self._spec
        self._begun_s, origin_unix_s = time.monotonic(), time.time()
        self._listener.phase("prepare")
        targets = [await prepare(t, spec.workload, timeout_s=spec.timeout_s) for t in spec.targets]
        watch = GaugeWatch(spec.gauges, spec.targets, origin_s=self._begun_s)
        async with AsyncExitStack() as stack:
            conditions = await conditions_of(
                spec, targets, await watch.gpus(), clocks=(self._begun_s, origin_unix_s)
            )
            crew, check = await self._crew(stack)
            start = RunStart(spec=spec, targets=targets, check=check, conditions=conditions)
            self._listener.started(start)
            gauges = asyncio.create_task(watch.watch(self._note))
            stack.callback(gauges.cancel)
            while self._stopped is None:
                level = self._next_level(self._visits)
                if level is None or not self._has_time():
                    break
                await self._one(crew, start, level)
        return RunResult(
            start=start,
            visits=self._visits,
            gauges=self._gauges,
            stopped=self._stopped,
            drift=drift_of(self._visits),
        )

    def _note(self, samples: list[GaugeSample]) -> None:
        self._gauges += samples
        self._listener.gauges(samples)

    async def _crew(self, stack: AsyncExitStack) -> tuple[Crew, SelfCheck | None]:
        """As many client processes as the run needs, by trial where that was left open."""
        spec = self._spec
        counts = [spec.processes] if spec.processes else process_counts(os.cpu_count() or 1)
        best: tuple[AsyncExitStack, Crew, SelfCheck] | None = None
        for count in counts:
            own = AsyncExitStack()
            crew = await own.enter_async_context(Crew(count))
            if not spec.self_check_s:
                stack.push_async_exit(own)
                return crew, None
            self._listener.phase("self_check")
            check = await self._check(crew)
            if best is not None and not _is_better(check, best[2]):
                await own.aclose()
                break
            if best is not None:
                await best[0].aclose()
            best = (own, crew, check)
            if check.verdict == "valid" or self._stopped is not None:
                break
        assert best is not None
        stack.push_async_exit(best[0])
        return best[1], best[2]

    async def _check(self, crew: Crew) -> SelfCheck:
        spec = self._spec
        users = [level.users for level in spec.levels if level.users is not None]
        return await self_check(
            crew,
            spec.workload,
            users=max(users, default=spec.max_concurrency or _OPEN_LOOP_USERS),
            tokens_per_s=2 * _speed_asked(spec.slo) or _UNKNOWN_SPEED,
            seconds=spec.self_check_s,
            held_back=LoadSpec(
                max_connections=spec.max_connections, asks_kernel=not any_tls(spec.targets)
            ),
        )

    def _left_s(self) -> float | None:
        if self._spec.max_time_s is None:
            return None
        return self._spec.max_time_s - (time.monotonic() - self._begun_s)

    def _has_time(self) -> bool:
        """Whether the warm-up of one more level fits."""
        left_s = self._left_s()
        if left_s is not None and left_s <= self._spec.window.warmup_s:
            self._stopped = Cause.TIME
        return self._stopped is None

    async def _one(self, crew: Crew, start: RunStart, level: LevelSpec) -> None:
        spec, number = self._spec, len(self._visits)
        if number and spec.settle_s:
            await asyncio.sleep(spec.settle_s)
        begin = Begin(
            targets=start.targets,
            workload=spec.workload,
            load=spec.load(level, number),
            begin_s=time.monotonic() + _LEAD_S,
            first_number=self._next_number,
        )
        left_s = self._left_s()
        window = spec.window
        if left_s is not None:
            window = msgspec.structs.replace(window, max_s=min(left_s, window.max_s or left_s))
        if spec.workload.trace:
            window = msgspec.structs.replace(window, warmup_s=0.0, duration_s=None, requests=None)
        label = VisitLabel(number, level.users, level.rate)
        self._visit = Visit(
            begin, label, window,
            origin_s=self._begun_s, enough=self._enough(level), listener=self._listener,
        )  # fmt: skip
        self._listener.phase("level")
        before = await self._engines()
        self._listener.level(label, begin.begin_s - self._begun_s, before)
        result = await self._visit.run(crew, self._on_progress)
        after = await self._engines()
        self._visit = None
        self._next_number = result.next_number
        self._keep(start, level, result, (before, after))

    def _keep(
        self,
        start: RunStart,
        level: LevelSpec,
        result: VisitResult,
        engines: tuple[Engines, Engines],
    ) -> None:
        if result.window.cause is Cause.TIME:
            self._stopped = Cause.TIME
        visit = level_visit(level, result, engines, start=start, gauges=self._gauges)
        self._visits.append(visit)
        self._listener.visit(visit, engines[1])

    async def _engines(self) -> list[EngineLoad | None]:
        return list(await asyncio.gather(*map(read_engine, self._spec.targets)))


def level_visit(
    level: LevelSpec,
    result: VisitResult,
    engines: tuple[Engines, Engines],
    *,
    start: RunStart,
    gauges: Sequence[GaugeSample],
) -> LevelVisit:
    """A visit with its numbers; `engines` is what they told before and after it."""
    template_tokens = max((load.scale.overhead for load in start.targets), default=0.0)
    asked = repeated_share(start.spec.workload, template_tokens=template_tokens)
    stats = level_stats(
        result.samples, result.window, result.client,
        slo=start.spec.slo, cache=_cache(*engines, result, asked), gauges=gauges,
    )  # fmt: skip
    return LevelVisit(level=level, stats=stats, result=result)


def process_counts(cpus: int) -> list[int]:
    """1, 2, 4 … up to the CPUs that there are."""
    counts = [1]
    while counts[-1] * 2 <= cpus:
        counts.append(counts[-1] * 2)
    return counts


def drift_of(visits: list[LevelVisit]) -> float | None:
    """Mean TPOT of the last visit of the first level over its first, minus 1."""
    if len(visits) < 2 or visits[-1].level != visits[0].level:
        return None
    first, last = (visits[n].stats.tpot_s.mean for n in (0, -1))
    return None if not first or last is None else last / first - 1


def _speed_asked(slo: SloSpec | None) -> float:
    bounds = slo.bounds if slo else ()
    return max((b.value for b in bounds if b.metric.startswith("user_tokens")), default=0.0)


def _is_better(check: SelfCheck, than: SelfCheck) -> bool:
    order = ("valid", "suspect", "invalid")
    mine, others = order.index(check.verdict), order.index(than.verdict)
    if mine != others:
        return mine < others
    return (check.stamp_delay_p99_s or 1e9) < 0.7 * (than.stamp_delay_p99_s or 1e9)


def _cache(before: Engines, after: Engines, result: VisitResult, asked: float) -> CacheStats:
    """By the engines' counters, summed; else by the cached tokens that their usage told."""
    rises = [cache_between(*pair) for pair in zip(before, after, strict=True)]
    known = [rise for rise in rises if rise.queries is not None and rise.hits is not None]
    if known:
        queries, hits = sum(r.queries or 0 for r in known), sum(r.hits or 0 for r in known)
        return CacheStats(queries, hits, asked)
    told = [s for s in result.samples if s.cached_tokens is not None and s.input_tokens]
    if not told:
        return CacheStats(asked_share=asked)
    return CacheStats(
        float(sum(s.input_tokens or 0 for s in told)),
        float(sum(s.cached_tokens or 0 for s in told)),
        asked,
    )
