"""The scheduler in virtual time: hours of an engine in milliseconds, the same every time."""

import heapq
from collections.abc import Callable, Iterable

from proa.emulator.profile import EngineProfile
from proa.emulator.scheduler import Scheduler
from proa.emulator.sequence import Sequence, SequenceSpec


class VirtualEngine:
    """An emulated engine with a clock of its own that jumps from event to event."""

    def __init__(self, profile: EngineProfile) -> None:
        self.scheduler = Scheduler(profile)
        self.now_s = 0.0
        self._arrivals: list[tuple[float, int, SequenceSpec]] = []
        self._number = 0

    def arrive(self, spec: SequenceSpec, at_s: float) -> None:
        """A sequence that is submitted when the clock reaches `at_s`."""
        heapq.heappush(self._arrivals, (max(at_s, self.now_s), self._number, spec))
        self._number += 1

    def run(self, on_end: Callable[[Sequence], None] | None = None) -> list[Sequence]:
        """Run until nothing is left to do; `on_end` may let more sequences arrive.

        Returns:
            All sequences, in the order of their ends.
        """
        ended: list[Sequence] = []

        def on_token(sequence: Sequence) -> None:
            if sequence.is_done:
                ended.append(sequence)
                if on_end is not None:
                    on_end(sequence)

        while True:
            self._submit_due(on_token)
            step = self.scheduler.begin_step(self.now_s)
            if step is not None:
                self.now_s += step.duration_s
                self.scheduler.end_step(step, self.now_s)
            elif self._arrivals:
                self.now_s = max(self.now_s, self._arrivals[0][0])
            else:
                return ended

    def _submit_due(self, on_token: Callable[[Sequence], None]) -> None:
        while self._arrivals and self._arrivals[0][0] <= self.now_s:
            at_s, _, spec = heapq.heappop(self._arrivals)
            self.scheduler.submit(spec, at_s, on_token)


def replay(
    profile: EngineProfile, arrivals: Iterable[tuple[float, SequenceSpec]]
) -> list[Sequence]:
    """What becomes of sequences that arrive at given seconds, whatever the queue's limit."""
    engine = VirtualEngine(profile)
    for at_s, spec in arrivals:
        engine.arrive(spec, at_s)
    return engine.run()
