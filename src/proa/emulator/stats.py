"""What an emulated engine counts for its metrics; all are totals since its start."""

from bisect import bisect_left
from collections.abc import Sequence as Ordered

from proa.emulator.sequence import Sequence

LATENCY_BOUNDS_S = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0,
    2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
"""vLLM's buckets of the first token's time."""
TOKEN_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)


class Histogram:
    """Counts per bucket, not yet cumulated, with the sum of all that was observed."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Ordered[float] = LATENCY_BOUNDS_S) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times


class EngineStats:
    """Totals and histograms; the scheduler counts here what it makes happen.

    `step_tokens_per_s` is the rate of the last step, not a total.
    """

    def __init__(self) -> None:
        self.prompt_tokens = 0
        self.generation_tokens = 0
        self.prefill_s = 0.0
        self.decode_s = 0.0
        self.steps = 0
        self.step_tokens_per_s = 0.0
        self.step_sequences = 0
        self.preemptions = 0
        self.prefix_queries = 0
        self.prefix_hits = 0
        self.finished_length = 0
        self.finished_stop = 0
        self.cancelled = 0
        self.rejected = 0
        self.first_token_s = Histogram()
        self.inter_token_s = Histogram()
        self.end_to_end_s = Histogram()
        self.queue_s = Histogram()
        self.request_prompt_tokens = Histogram(TOKEN_BOUNDS)
        self.request_generation_tokens = Histogram(TOKEN_BOUNDS)

    @property
    def finished(self) -> int:
        return self.finished_length + self.finished_stop

    def count_admission(self, sequence: Sequence, now_s: float, *, is_query: bool) -> None:
        """A sequence's first start; a query of the prefix cache where there is one."""
        self.queue_s.observe(max(0.0, now_s - sequence.arrived_s))
        if is_query:
            self.prefix_queries += sequence.prompt_tokens
            self.prefix_hits += sequence.cached_tokens

    def count_first_token(self, sequence: Sequence, now_s: float) -> None:
        self.first_token_s.observe(now_s - sequence.arrived_s)
        self.prompt_tokens += sequence.prompt_tokens
        self.generation_tokens += 1

    def count_step(self, sequences: int, decoded: int, duration_s: float, prefill_s: float) -> None:
        """A step's end; `decoded` are its tokens but the first ones of sequences.

        All gaps between tokens count as this step's length, also those that a
        preemption made longer.
        """
        self.steps += 1
        self.step_sequences += sequences
        self.generation_tokens += decoded
        self.prefill_s += prefill_s
        self.decode_s += duration_s - prefill_s
        self.step_tokens_per_s = decoded / duration_s
        if decoded:
            self.inter_token_s.observe(duration_s, decoded)

    def count_end(self, sequence: Sequence, now_s: float) -> None:
        if sequence.spec.is_cut:
            self.finished_length += 1
        else:
            self.finished_stop += 1
        self.end_to_end_s.observe(now_s - sequence.arrived_s)
        self.request_prompt_tokens.observe(sequence.prompt_tokens)
        self.request_generation_tokens.observe(sequence.output_tokens)
