"""Engines with continuous batching in virtual time: no process, no noise, and fast.

A step lasts step_s(running sequences, their KV tokens) plus the time of the prompt tokens
that it takes in; at its end every running sequence has one token more, and prompts that
are through have their first.

Not modelled:
    preemption, prefix caches, network.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from proa.domain.timing import StepTime


@dataclass(frozen=True)
class VirtualEngineSpec:
    """`changes` are (time, factor) pairs: from then on everything takes factor times as long."""

    name: str
    step: StepTime
    prefill_tokens_per_s: float = 10_000.0
    chunk_tokens: int = 2048
    max_sequences: int = 256
    changes: tuple[tuple[float, float], ...] = ()


@dataclass(eq=False)
class Ask:
    """One request and what became of it; times are None until they are known."""

    input_tokens: int
    output_tokens: int
    due_s: float = 0.0
    max_tokens: int | None = None
    engine: int = -1
    sent_s: float = 0.0
    first_s: float | None = None
    last_s: float | None = None

    @property
    def ttft_s(self) -> float:
        assert self.first_s is not None
        return self.first_s - self.sent_s

    @property
    def tokens_per_s(self) -> float:
        """1 / TPOT; infinite for answers of one token."""
        assert self.first_s is not None
        assert self.last_s is not None
        seconds = self.last_s - self.first_s
        return (self.output_tokens - 1) / seconds if seconds > 0 else float("inf")


class Clock:
    """Virtual time: `at` schedules, `run` goes from event to event."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time_s: float, act: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (time_s, self._count, act))

    def run(self, until_s: float = float("inf")) -> None:
        """Everything that is due up to `until_s`, in order."""
        events = self._events
        while events and events[0][0] <= until_s:
            self.now_s, _, act = heapq.heappop(events)
            act()


class VirtualEngine:
    """One engine; `started` and `ended` are called with requests as they reach these points.

    `tokens` counts what was generated after first tokens; `running` are those that decode.
    """

    def __init__(
        self,
        spec: VirtualEngineSpec,
        clock: Clock,
        started: Callable[[Ask], None] = lambda ask: None,
        ended: Callable[[Ask], None] = lambda ask: None,
    ) -> None:
        self.spec = spec
        self.tokens = 0
        self.kv_tokens = 0
        self._clock = clock
        self._started = started
        self._ended = ended
        self._steps = 0
        self._is_busy = False
        self._running: list[tuple[int, int, Ask]] = []
        self._waiting: deque[tuple[Ask, int]] = deque()  # with the prompt tokens still to take in
        self._order = 0

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def in_flight(self) -> int:
        return len(self._running) + len(self._waiting)

    def send(self, ask: Ask) -> None:
        """A request arrives now."""
        self._waiting.append((ask, ask.input_tokens))
        if not self._is_busy:
            self._is_busy = True
            self._clock.at(self._clock.now_s, self._step)

    def _step(self) -> None:
        if not self.in_flight:
            self._is_busy = False
            return
        clock, spec = self._clock, self.spec
        taken, through = self._take_in()
        factor = 1.0
        for since_s, scale in spec.changes:
            factor = scale if clock.now_s >= since_s else factor
        seconds = spec.step.step_s(len(self._running), self.kv_tokens)
        seconds += taken / spec.prefill_tokens_per_s
        clock.at(clock.now_s + seconds * factor, lambda: self._end_step(through))

    def _take_in(self) -> tuple[int, list[Ask]]:
        """Prompt tokens of this step, and the requests whose prompts are through with it."""
        budget, through = self.spec.chunk_tokens, list[Ask]()
        free = self.spec.max_sequences - len(self._running)
        while budget and self._waiting and len(through) < free:
            ask, left = self._waiting[0]
            part = min(left, budget)
            budget -= part
            if part < left:
                self._waiting[0] = (ask, left - part)
                break
            self._waiting.popleft()
            through.append(ask)
        return self.spec.chunk_tokens - budget, through

    def _end_step(self, through: list[Ask]) -> None:
        now_s = self._clock.now_s
        self._steps += 1
        self.tokens += len(self._running)
        self.kv_tokens += len(self._running)
        while self._running and self._running[0][0] <= self._steps:
            self._end(heapq.heappop(self._running)[2])
        for ask in through:
            ask.first_s = now_s
            self._order += 1
            self.kv_tokens += ask.input_tokens + 1
            end = self._steps + ask.output_tokens - 1
            heapq.heappush(self._running, (end, self._order, ask))
            self._started(ask)
            if end <= self._steps:
                self._running.remove((end, self._order, ask))
                heapq.heapify(self._running)
                self._end(ask)
        self._step()

    def _end(self, ask: Ask) -> None:
        ask.last_s = self._clock.now_s
        self.kv_tokens -= ask.input_tokens + ask.output_tokens
        self._ended(ask)


Choose = Callable[[Ask, "VirtualFleet"], int]


@dataclass
class VirtualFleet:
    """Engines behind one chooser; `done` are the finished requests in order of their end."""

    specs: Sequence[VirtualEngineSpec]
    choose: Choose
    clock: Clock = field(default_factory=Clock)
    done: list[Ask] = field(default_factory=list)
    started: Callable[[Ask], None] = lambda ask: None
    ended: Callable[[Ask], None] = lambda ask: None
    engines: list[VirtualEngine] = field(init=False)

    def __post_init__(self) -> None:
        self.engines = [
            VirtualEngine(spec, self.clock, self._on_start, self._on_end) for spec in self.specs
        ]

    def send(self, ask: Ask) -> None:
        """Choose an engine for a request now."""
        ask.sent_s = self.clock.now_s
        ask.engine = self.choose(ask, self)
        self.engines[ask.engine].send(ask)

    def _on_start(self, ask: Ask) -> None:
        self.started(ask)

    def _on_end(self, ask: Ask) -> None:
        self.done.append(ask)
        self.ended(ask)
