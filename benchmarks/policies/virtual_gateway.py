"""A gateway in virtual time: the product's policies and learners before virtual engines."""

from collections.abc import Callable, Sequence
from random import Random

from benchmarks.policies.virtual import Ask, VirtualEngine, VirtualEngineSpec, VirtualFleet
from proa.domain.lengths import LIMIT_CLASSES, UNLIMITED, limit_class
from proa.domain.load import EngineLoadView, LoadView
from proa.domain.request import RouteRequest
from proa.domain.timing import EngineTiming
from proa.routing.engine_learner import EngineLearner, TrafficWindow
from proa.routing.lengths import LengthLearner
from proa.routing.loads import Loads
from proa.routing.policy.base import PolicyMemory
from proa.routing.policy.registry import make_policy
from proa.routing.spec import PolicyName, RoutingSpec

WINDOW_S = 0.25
PUBLISH_S = 0.5
BYTES_PER_TOKEN = 4


class VirtualGateway:
    """`fleet` is what it stands before; `known` are timings that it is told, else it learns.

    `ended` is called with each finished request.
    """

    def __init__(
        self,
        specs: Sequence[VirtualEngineSpec],
        policy: PolicyName,
        *,
        seed: int = 0,
        known: Sequence[EngineTiming] | None = None,
        weights: dict[str, float] | None = None,
    ) -> None:
        self._names = [spec.name for spec in specs]
        routing = RoutingSpec(policy=policy, weights=weights or {})
        self._policy = make_policy(routing, self._names, PolicyMemory())
        self._rng = Random(seed)
        self._known = known
        self.loads = Loads(len(specs))
        self.fleet = VirtualFleet(specs, self._choose)
        self.fleet.started, self.fleet.ended = self._on_first, self._on_end
        self._lengths = LengthLearner()
        self.learners = [EngineLearner() for _ in specs]
        self._books = [_Book(engine) for engine in self.fleet.engines]
        self._candidates = tuple(range(len(specs)))
        self._sequence = 0
        self._open = 0
        self._publish()
        self._next_publish_s = PUBLISH_S
        self._is_watching = False
        self.ended: Callable[[Ask], None] = lambda ask: None

    def send(self, ask: Ask) -> None:
        self._open += 1
        if not self._is_watching:
            self._is_watching = True
            self.fleet.clock.at(self.fleet.clock.now_s + WINDOW_S, self._window)
        self.fleet.send(ask)

    def _choose(self, ask: Ask, fleet: VirtualFleet) -> int:
        loads = self.loads
        loads.in_flight = [engine.in_flight for engine in fleet.engines]
        loads.limits_in_flight = [book.limits_in_flight for book in self._books]
        loads.waiting_bytes = [book.waiting_bytes for book in self._books]
        size = ask.input_tokens * BYTES_PER_TOKEN
        request = RouteRequest(
            path="/v1/chat/completions", body_bytes=size, max_tokens=ask.max_tokens
        )
        index = self._policy.pick(self._candidates, loads, request, self._rng)
        self._books[index].sent(ask, size)
        return index

    def _on_first(self, ask: Ask) -> None:
        self._books[ask.engine].began(ask, self.fleet.clock.now_s)

    def _on_end(self, ask: Ask) -> None:
        self._open -= 1
        self._books[ask.engine].ended(ask, self.fleet.clock.now_s)
        limits, tokens = [0.0] * LIMIT_CLASSES, [0.0] * LIMIT_CLASSES
        limits[limit_class(ask.max_tokens)] = ask.max_tokens or 1
        tokens[limit_class(ask.max_tokens)] = ask.output_tokens
        self._lengths.observe(tokens, limits)
        self.ended(ask)

    def _window(self) -> None:
        now_s = self.fleet.clock.now_s
        for learner, book in zip(self.learners, self._books, strict=True):
            learner.observe(book.window(now_s), now_s)
        if now_s >= self._next_publish_s:
            self._next_publish_s = now_s + PUBLISH_S
            self._publish()
        self._is_watching = self._open > 0
        if self._is_watching:
            self.fleet.clock.at(now_s + WINDOW_S, self._window)

    def _publish(self) -> None:
        now_s = self.fleet.clock.now_s
        timings: Sequence[EngineTiming | None] = self._known or [
            learner.timing(now_s) for learner in self.learners
        ]
        engines = tuple(
            EngineLoadView(name=name, timing=timing, max_concurrent=spec.max_sequences)
            for name, timing, spec in zip(self._names, timings, self.fleet.specs, strict=True)
        )
        self._sequence += 1
        view = LoadView(self._sequence, engines, limit_use=self._lengths.limit_use)
        self.loads.apply(view, self._names)


class _Book:
    """What a worker counts of one engine."""

    def __init__(self, engine: VirtualEngine) -> None:
        self.waiting_bytes = 0
        self.limits_in_flight = 0
        self._engine = engine
        self._sole: Ask | None = None
        self._streams = 0
        self._since_s = 0.0
        self._stream_s = 0.0
        self._tokens = 0
        self._sums: dict[str, float] = {}

    def sent(self, ask: Ask, size: int) -> None:
        self.limits_in_flight += ask.max_tokens or UNLIMITED
        self._sole = None if self.waiting_bytes else ask
        self.waiting_bytes += size

    def began(self, ask: Ask, now_s: float) -> None:
        size = ask.input_tokens * BYTES_PER_TOKEN
        self.waiting_bytes -= size
        self._streams += 1
        self._stream_s -= now_s
        if ask is self._sole:
            ttft_s = now_s - ask.sent_s
            self._add(
                first_count=1,
                first_s=ttft_s,
                first_bytes=size,
                first_bytes2=size * size,
                first_bytes_s=size * ttft_s,
            )

    def ended(self, ask: Ask, now_s: float) -> None:
        self.limits_in_flight -= ask.max_tokens or UNLIMITED
        self._streams -= 1
        self._stream_s += now_s
        size = ask.input_tokens * BYTES_PER_TOKEN
        self._add(
            answers=1,
            answer_tokens=ask.output_tokens,
            prompt_bytes=size,
            prompt_tokens=ask.input_tokens,
        )

    def window(self, now_s: float) -> TrafficWindow:
        tokens, self._tokens = self._engine.tokens - self._tokens, self._engine.tokens
        seconds, self._since_s = now_s - self._since_s, now_s
        stream_s = self._stream_s + self._streams * now_s
        self._stream_s = -self._streams * now_s
        sums, self._sums = self._sums, {}
        return TrafficWindow(
            seconds=seconds, events=tokens, stream_s=stream_s, sequences=stream_s / seconds, **sums
        )

    def _add(self, **amounts: float) -> None:
        for name, amount in amounts.items():
            self._sums[name] = self._sums.get(name, 0.0) + amount
