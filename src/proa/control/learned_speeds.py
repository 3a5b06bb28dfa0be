"""Each engine's speed, learned from what the workers count, and remembered over restarts."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from proa.catalog.step_times import catalogue_timing
from proa.control.knowledge import WorkersKnowledge
from proa.domain.fleet import EngineSpec, EngineView
from proa.domain.lengths import LIMIT_CLASSES
from proa.domain.timing import EngineTiming
from proa.routing.engine_learner import EngineLearner, TrafficWindow
from proa.routing.lengths import LengthLearner
from proa.routing.speeds import DEFAULT_BYTES_PER_TOKEN
from proa.telemetry.rows import UNIT_BYTES, Engine, SharedRows, engine_base

OBSERVE_S = 0.25
_US, _MS = 1e6, 1e3


class RememberedSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """What was known of an engine; `seen_at_s` is when its last stream came (wall clock)."""

    url: str
    seen_at_s: float
    timing: EngineTiming


class LearnedSpeeds(WorkersKnowledge):
    """`observe` must be called a few times a second.

    `remembered` is what `to_remember` gave in an earlier run. An engine with another
    address is another engine.
    """

    def __init__(
        self,
        rows: SharedRows,
        slots: Callable[[], Mapping[str, int]],
        *,
        remembered: Mapping[str, RememberedSpeed] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(rows, slots)
        self._remembered = dict(remembered or {})
        self._clock = clock
        self._wall_clock = wall_clock
        self._engines: dict[str, _Engine] = {}
        self._lengths = LengthLearner()

    def timing(self, spec: EngineSpec, engine: EngineView) -> EngineTiming | None:
        """How fast an engine is: learned, remembered, or as the catalogue has it."""
        now_s, known = self._clock(), self._engines.get(spec.name)
        prior = _catalogue(spec, engine)
        if known is None or known.spec.url != spec.url or known.is_behind(prior):
            start = self._remembered_start(spec, prior) or prior
            known = self._engines[spec.name] = _Engine(spec, start, now_s, prior)
        return known.learner.timing(now_s)

    def limit_use(self) -> tuple[float, ...]:
        return self._lengths.limit_use

    def observe(self) -> None:
        """Take in what the workers counted since the last call."""
        now_s, slots = self._clock(), self._slots()
        for name, engine in list(self._engines.items()):
            slot = slots.get(name)
            if slot is None:
                del self._engines[name]
            else:
                self._answered(engine.observe(self._rows, slot, now_s))

    def _answered(self, grown: Mapping[int, int]) -> None:
        if grown:
            tokens = [grown[Engine.LIMITED_TOKENS + i] for i in range(LIMIT_CLASSES)]
            limits = [grown[Engine.LIMITS + i] for i in range(LIMIT_CLASSES)]
            self._lengths.observe(tokens, limits)

    def to_remember(self) -> dict[str, Any]:
        """What is known now as plain JSON values, engines that are away for a while included."""
        now_s, wall_s = self._clock(), self._wall_clock()
        for name, engine in self._engines.items():
            timing = engine.learner.timing(now_s)
            if timing is not None and timing.samples:
                seen_at_s = float(round(wall_s - timing.age_s))
                timing = msgspec.structs.replace(timing, age_s=0.0, prior=None)
                kept = RememberedSpeed(url=engine.spec.url, seen_at_s=seen_at_s, timing=timing)
                self._remembered[name] = kept
        plain: dict[str, Any] = msgspec.to_builtins(self._remembered)
        return plain

    def _remembered_start(
        self, spec: EngineSpec, prior: EngineTiming | None
    ) -> EngineTiming | None:
        kept = self._remembered.get(spec.name)
        if kept is None or kept.url != spec.url:
            return None
        age_s = max(0.0, self._wall_clock() - kept.seen_at_s)
        step = None if prior is None else prior.step
        return msgspec.structs.replace(kept.timing, age_s=age_s, prior=step)


def read_remembered(value: Any) -> dict[str, RememberedSpeed]:
    """What `to_remember` gave.

    Raises:
        ValueError: it is something else.
    """
    return msgspec.convert(value, dict[str, RememberedSpeed])


class _Engine:
    """One engine's learner and the totals that it has taken in."""

    def __init__(
        self, spec: EngineSpec, start: EngineTiming | None, now_s: float,
        prior: EngineTiming | None,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.learner = EngineLearner(start, now_s)
        self._prior = prior
        self._totals: dict[int, int] = {}
        self._slot = -1

    def is_behind(self, prior: EngineTiming | None) -> bool:
        """Whether the catalogue has found the engine since, and traffic has not."""
        return prior is not None and self._prior is None and not self.learner.has_learned

    def observe(self, rows: SharedRows, slot: int, now_s: float) -> Mapping[int, int]:
        """What its cells grew by; nothing where they are new."""
        base = engine_base(slot)
        totals = {cell: rows.total(base + cell) for cell in _CELLS}
        grown = {cell: total - self._totals.get(cell, 0) for cell, total in totals.items()}
        is_new = slot != self._slot or min(grown.values()) < 0
        self._slot, self._totals = slot, totals
        if is_new:
            return {}
        self.learner.observe(_window(grown, totals), now_s)
        return grown


_CELLS = (
    Engine.PROMPT_TOKENS,
    *range(Engine.EVENTS, Engine.HELD_EVENT_MS + 1),
    *range(Engine.LIMITED_TOKENS, Engine.LIMITS + LIMIT_CLASSES),
)


def _window(grown: Mapping[int, int], totals: Mapping[int, int]) -> TrafficWindow:
    """What the cells grew by; ratios, which need more than a window, from their totals."""
    stream_us = grown[Engine.STREAM_US]
    sequences = grown[Engine.SEQUENCES_US] / stream_us if stream_us else 0.0
    bytes_per_token = _ratio(
        totals[Engine.PROMPT_BYTES], totals[Engine.PROMPT_TOKENS], DEFAULT_BYTES_PER_TOKEN
    )
    tokens_per_event = _ratio(totals[Engine.TOLD_TOKENS], totals[Engine.TOLD_EVENTS], 1.0)
    held_ms = grown[Engine.HELD_BYTE_MS] / bytes_per_token
    held_ms += grown[Engine.HELD_EVENT_MS] * tokens_per_event
    return TrafficWindow(
        seconds=grown[Engine.WINDOW_US] / _US,
        events=grown[Engine.EVENTS],
        stream_s=stream_us / _US,
        sequences=sequences,
        kv_tokens=held_ms * _MS / stream_us * sequences if stream_us else 0.0,
        told_events=grown[Engine.TOLD_EVENTS],
        told_tokens=grown[Engine.TOLD_TOKENS],
        answers=grown[Engine.ANSWERS],
        answer_tokens=grown[Engine.ANSWER_TOKENS],
        prompt_bytes=grown[Engine.PROMPT_BYTES],
        prompt_tokens=grown[Engine.PROMPT_TOKENS],
        first_count=grown[Engine.FIRST_COUNT],
        first_s=grown[Engine.FIRST_US] / _US,
        first_bytes=grown[Engine.FIRST_UNITS] * UNIT_BYTES,
        first_bytes2=grown[Engine.FIRST_UNITS2] * UNIT_BYTES**2,
        first_bytes_s=grown[Engine.FIRST_UNITS_US] * UNIT_BYTES / _US,
    )


def _ratio(over: int, under: int, default: float) -> float:
    return over / under if over and under else default


def _catalogue(spec: EngineSpec, engine: EngineView) -> EngineTiming | None:
    """What the catalogue says of the engine's GPU with the first of its models that it knows."""
    if not spec.gpu:
        return None
    for model in engine.models:
        found = catalogue_timing(spec.gpu, model.id)
        if found is not None:
            return msgspec.structs.replace(found, prior=found.step)
    return None
