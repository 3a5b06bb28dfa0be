"""Finished tries of one engine: kept as they come, counted together a few times a second."""

from bisect import bisect_right
from itertools import compress

from proa.domain.lengths import limit_class
from proa.telemetry.rows import DURATION_BOUNDS_US, ENGINE_CELLS, Engine, Tally, engine_base

Finished = tuple[int, int | None, int | None, int, int | None, int | None]
"""Microseconds, the prompt's and the answer's tokens as told, bytes of the body, tokens of
the answer if it is whole, and what its client limited them to."""

_SAMPLED = 8  # of the answers that are counted together, for what they use of their limits


class EngineTally(Tally):
    """The counters of one engine in one worker.

    Counting what is `finished` in columns costs a tenth of counting each as it comes.
    """

    def __init__(self, row: memoryview, slot: int) -> None:
        super().__init__(row, engine_base(slot), ENGINE_CELLS)
        self.finished: list[Finished] = []

    def flush(self) -> None:
        if self.finished:
            self._count_finished()
        super().flush()

    def _count_finished(self) -> None:
        counts = self.counts
        times_us, prompts, told, bodies, answers, limits = zip(*self.finished, strict=True)
        self.finished.clear()
        counts[Engine.DURATION_SUM_US] += sum(times_us)
        counts[Engine.PROMPT_TOKENS] += sum(filter(None, prompts))
        counts[Engine.PROMPT_BYTES] += sum(compress(bodies, prompts))
        counts[Engine.COMPLETION_TOKENS] += sum(filter(None, told))
        counts[Engine.ANSWER_TOKENS] += sum(filter(None, answers))
        counts[Engine.ANSWERS] += len(answers) - answers.count(None)
        for answer, limit in zip(answers[:_SAMPLED], limits, strict=False):
            if answer is not None:
                of_class = limit_class(limit)
                counts[Engine.LIMITED_TOKENS + of_class] += answer
                counts[Engine.LIMITS + of_class] += limit or 1
        self._count_times(sorted(times_us))

    def _count_times(self, sorted_us: list[int]) -> None:
        """A bucket holds what is at most its bound and more than the one before."""
        below = 0
        for bucket, bound_us in enumerate(DURATION_BOUNDS_US):
            upto = bisect_right(sorted_us, bound_us)
            self.counts[Engine.DURATION_BUCKET + bucket] += upto - below
            below = upto
        over = len(sorted_us) - below
        self.counts[Engine.DURATION_BUCKET + len(DURATION_BOUNDS_US)] += over
