"""The demo's measurements: a closed loop of users, and pairs of direct and relayed requests."""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from proa.cli.demo.client import Answer, Target
from proa.cli.demo.texts import Question

PAUSE_AFTER_ERROR_S = 0.2
SLOWEST = 5  # a busy machine gets so many times the time before a phase ends


@dataclass(slots=True)
class Phase:
    """A closed loop on one target while it runs, and its result afterwards."""

    name: str
    answers: list[Answer] = field(default_factory=list)
    running: int = 0
    tokens: int = 0
    began_s: float = 0.0
    ended_s: float | None = None
    cut: int = 0
    counted: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def seconds(self) -> float:
        if not self.began_s:
            return 0.0
        return (self.ended_s or time.perf_counter()) - self.began_s

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0

    def begin(self) -> None:
        """Count from now on."""
        self.began_s = time.perf_counter()
        self.answers.clear()
        self.tokens = 0

    def end(self) -> None:
        """No token counts from now on, and no user asks again."""
        self.ended_s = time.perf_counter()

    def count_tokens(self, count: int) -> None:
        """Tokens count in the moment of their arrival, before `end` only."""
        if self.ended_s is None:
            self.tokens += count
            self.counted.set()

    async def run_for(self, seconds: float, *, least_tokens: int) -> None:
        """Wait `seconds`, and up to `SLOWEST` times as long until `least_tokens` came."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SLOWEST * seconds):
                await asyncio.sleep(seconds)
                while self.tokens < least_tokens:
                    self.counted.clear()
                    await self.counted.wait()


@asynccontextmanager
async def closed_loop(
    phase: Phase, target: Target, questions: Iterator[Question], *, users: int, drain_s: float
) -> AsyncIterator[None]:
    """While open, each of `users` asks one question after the other.

    At the end they have `drain_s` for what runs; then it is cancelled and `cut` counts it.
    """
    phase.begin()
    tasks = [asyncio.create_task(_user(phase, target, questions)) for _ in range(users)]
    try:
        yield
        phase.end()
        await asyncio.wait(tasks, timeout=drain_s)
    finally:
        phase.cut = phase.running
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def _user(phase: Phase, target: Target, questions: Iterator[Question]) -> None:
    while phase.ended_s is None:
        phase.running += 1
        try:
            answer = await target.ask(next(questions), on_tokens=phase.count_tokens)
        finally:
            phase.running -= 1
        phase.answers.append(answer)
        if answer.error:
            await asyncio.sleep(PAUSE_AFTER_ERROR_S)


class AddedLatency(msgspec.Struct, frozen=True):
    """What a client waits beyond the engine's own work, in medians, at a number of tokens.

    `added_ms` is gateway less direct, per pair.
    """

    tokens: int
    direct_ms: float
    gateway_ms: float
    added_ms: float
    pairs: int


async def pair_at_once(
    direct: tuple[Target, Question], gateway: tuple[Target, Question], *, gateway_first: bool
) -> tuple[Answer, Answer]:
    """Two streams of exactly `max_tokens` at the same moment: direct, and through the gateway.

    They should reach different engines; each is compared with its own engine's time,
    and both see the same machine. Who is sent first waits for the sending of the
    other, so callers change the order.
    """
    extra = {"ignore_eos": True, "timings_per_token": True, "temperature": 0.0}
    order = [gateway, direct] if gateway_first else [direct, gateway]
    answers = await asyncio.gather(*(target.ask(asked, extra=extra) for target, asked in order))
    first, second = answers
    return (second, first) if gateway_first else (first, second)


def added_latency(pairs: Iterable[Sequence[Answer]], lengths: Sequence[int]) -> list[AddedLatency]:
    """Added time at each of `lengths`; lengths that no pair reached are left out."""
    found = []
    pairs = list(pairs)
    for tokens in lengths:
        both = [[beyond_engine_s(answer, tokens) for answer in pair] for pair in pairs]
        complete = [(d * 1e3, g * 1e3) for d, g in both if d is not None and g is not None]
        if complete:
            direct, gateway = (statistics.median(column) for column in zip(*complete, strict=True))
            added = statistics.median(g - d for d, g in complete)
            found.append(AddedLatency(tokens, direct, gateway, added, len(complete)))
    return found


def beyond_engine_s(answer: Answer, tokens: int, *, window: int = 10) -> float | None:
    """Seconds waited until the last of `tokens` beyond what the engine says to have worked.

    The median over the `window` marks up to that token, since one mark alone
    shows the scheduler of the operating system.
    """
    near = [at - worked for n, at, worked in answer.marks if tokens - window < n <= tokens]
    if answer.error or not near:
        return None
    return statistics.median(near)
