"""The scheduler in real time: steps begin and end on an absolute schedule, so nothing drifts."""

from collections.abc import Callable
from typing import Protocol

from proa.emulator.profile import EngineProfile
from proa.emulator.scheduler import Scheduler, Step
from proa.emulator.sequence import Sequence, SequenceSpec

LONGEST_LAG_S = 1.0
"""A process that comes later than this (it was stopped) goes on from now; `skipped_s` tells."""


class Timers(Protocol):
    """What is needed of an event loop; asyncio's has it."""

    def time(self) -> float: ...

    def call_soon(self, callback: Callable[[], object], /) -> object: ...

    def call_at(self, when: float, callback: Callable[[], object], /) -> object: ...


class RealTimeEngine:
    """One emulated engine on an event loop.

    A step that ends late because the machine was busy does not move the following
    ones: they catch up. `lag_max_s` is the largest delay that was seen.
    """

    def __init__(self, profile: EngineProfile, loop: Timers) -> None:
        self.profile = profile
        self.scheduler = Scheduler(profile)
        self.started_s = loop.time()
        self.lag_max_s = 0.0
        self.skipped_s = 0.0
        self._loop = loop
        self._step: Step | None = None
        self._now_s = 0.0
        self._timer: object | None = None

    @property
    def speed(self) -> float:
        """1.0 is the profile's; steps that began before a change keep their length."""
        return self.scheduler.speed

    @speed.setter
    def speed(self, factor: float) -> None:
        self.scheduler.speed = factor

    def submit(self, spec: SequenceSpec, on_token: Callable[[Sequence], None]) -> Sequence:
        """Queue a sequence; its first step begins when the step that runs now has ended."""
        sequence = self.scheduler.submit(spec, self._loop.time(), on_token)
        if self._timer is None:
            self._timer = self._loop.call_soon(self._begin_now)
        return sequence

    def cancel(self, sequence: Sequence) -> None:
        """Forget a sequence at once; one that ended is left alone."""
        self.scheduler.cancel(sequence)

    def _begin_now(self) -> None:
        self._now_s = self._loop.time()
        self._begin()

    def _begin(self) -> None:
        step = self.scheduler.begin_step(self._now_s)
        if step is None:
            self._step = self._timer = None
            return
        self._step = step
        self._now_s += step.duration_s
        self._timer = self._loop.call_at(self._now_s, self._end)

    def _end(self) -> None:
        if self._step is None:
            return
        self.scheduler.end_step(self._step, self._now_s)
        lag_s = self._loop.time() - self._now_s
        if lag_s > self.lag_max_s:
            self.lag_max_s = lag_s
        if lag_s > LONGEST_LAG_S:
            self.skipped_s += lag_s
            self._now_s += lag_s
        self._begin()
