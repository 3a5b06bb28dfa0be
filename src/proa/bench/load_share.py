"""One process's share of a level: who sends when, and what; nothing is decided here.

It loads until it is stopped. Which requests count, and when it is enough, is decided by the
run, from the exchanges that this hands over as they end.
"""

import time
from collections.abc import Callable
from itertools import islice

import msgspec

from proa.bench.answer import read_answer
from proa.bench.arrival_clock import ArrivalClock
from proa.bench.arrivals import send_times
from proa.bench.body import body_of, prompt_hash
from proa.bench.client import TargetClient
from proa.bench.closed_loop import ClosedLoop
from proa.bench.open_loop import OpenLoop
from proa.bench.process_messages import Begin
from proa.bench.raw import Asked, RawExchange
from proa.bench.timers import Timers
from proa.bench.workloads import Prompt, Prompts

_Made = tuple[int, Prompt, bytes]


class LoadShare:
    """Sends what `begin` says; `hand_over` gets each exchange when it ended."""

    def __init__(
        self, begin: Begin, timers: Timers, hand_over: Callable[[RawExchange], None]
    ) -> None:
        self.next_number = begin.first_number + begin.share
        self._begin = begin
        self._timers = timers
        self._hand_over = hand_over
        self.clock = ArrivalClock() if begin.load.asks_kernel else ArrivalClock(asks_kernel=False)
        cap = begin.load.max_connections
        self.clients = [
            TargetClient(t.target, clock=self.clock, max_connections=cap) for t in begin.targets
        ]
        self._prompts = [Prompts(begin.workload, t.scale) for t in begin.targets]
        self._ready: dict[int, _Made] = {}
        self._answers: dict[int, str] = {}
        self._loop: ClosedLoop | OpenLoop | None = None

    @property
    def is_over(self) -> bool:
        return self._loop is not None and self._loop.is_over

    @property
    def on_wire(self) -> int:
        return sum(client.on_wire for client in self.clients)

    @property
    def pausing(self) -> int:
        """Users that wait after a failure."""
        return self._loop.pausing if isinstance(self._loop, ClosedLoop) else 0

    @property
    def late_connects(self) -> int:
        return sum(client.late_connects for client in self.clients)

    def oldest_sent_s(self) -> float | None:
        """When the oldest exchange in flight was sent."""
        oldest = (client.oldest_sent_s() for client in self.clients)
        return min((at_s for at_s in oldest if at_s is not None), default=None)

    async def open(self) -> None:
        """Open the connections. Raises OSError: a target takes none."""
        begin = self._begin
        mine = len(range(begin.share, begin.load.connections, begin.of))
        for index, client in enumerate(self.clients):
            await client.open(len(range(index, mine, len(self.clients))))

    def start(self) -> None:
        """Begin to send, at `begin_s` or now."""
        begin, load = self._begin, self._begin.load
        begin_s = max(begin.begin_s, self._timers.now())
        if load.users is not None:
            users = range(begin.share, load.users, begin.of)
            offset_s = load.stagger_s * begin.share / max(1, load.users)
            self._loop = ClosedLoop(
                users, self.send, self._timers,
                begin_s=begin_s + offset_s, stagger_s=load.stagger_s,
            )  # fmt: skip
            return
        if load.arrivals is not None:
            offsets = send_times(load.arrivals)
        else:
            offsets = iter([row.at_s for row in begin.workload.trace])
        cap = load.max_concurrency
        self._loop = OpenLoop(
            islice(offsets, begin.share, None, begin.of),
            self.send,
            self._timers,
            begin_s=begin_s,
            max_concurrency=None if cap is None else max(1, cap // begin.of),
        )

    def end_late(self) -> None:
        """End what has taken longer than the timeout."""
        timeout_s = self._begin.load.timeout_s
        for client in self.clients:
            client.end_older(self._timers.now() - timeout_s, f"no end within {timeout_s:g} s")

    def stop(self) -> None:
        """End everything; what was in flight is handed over as stopped."""
        if self._loop is not None:
            self._loop.stop()
        for client in self.clients:
            client.stop()

    def send(
        self, user: int, scheduled_s: float | None, on_end: Callable[[RawExchange], None]
    ) -> None:
        """Send the user's next request now."""
        turn = user if self._begin.load.users is not None else self.next_number
        target = turn % len(self.clients)
        number, prompt, body = self._taken(user, target)

        def ended(raw: RawExchange) -> None:
            if self._begin.workload.turns > 1:
                self._answers[user] = "".join(read_answer(raw).text)
            on_end(raw)
            self._hand_over(raw)

        asked = Asked(
            number, target, user, prompt_hash(body), prompt.input_tokens, prompt.output_tokens,
            scheduled_s,
        )  # fmt: skip
        raw = RawExchange(asked, self._timers.now(), times=[], reads=[])
        self.clients[target].send(raw, body, ended)
        if self._begin.load.users is not None and self._begin.workload.turns == 1:
            self._timers.call_at(time.monotonic(), lambda: self._prepare(user, target))

    def _taken(self, user: int, target: int) -> _Made:
        made = self._ready.pop(user) if user in self._ready else None
        return made or self._make(user, target)

    def _prepare(self, user: int, target: int) -> None:
        """Make the user's next body while its answer is on the way."""
        if not self.is_over and user not in self._ready:
            self._ready[user] = self._make(user, target)

    def _make(self, user: int, target: int) -> _Made:
        begin = self._begin
        number = self.next_number
        self.next_number += begin.of
        seen = number if begin.workload.unique else number - begin.first_number
        row = user * begin.of + begin.share if begin.load.users is None else user
        prompt = self._prompts[target].make(seen, user=row, answer=self._answers.pop(user, None))
        chosen = begin.targets[target]
        return number, prompt, body_of(chosen.target, prompt, chosen.body)


def share_of(begin: Begin, share: int, of: int) -> Begin:
    """The same level as another process gets it."""
    return msgspec.structs.replace(begin, share=share, of=of)
