"""Which sequence computes what in the next step, and how long the step takes.

Each step gives every running sequence what it still has to compute, within a budget of
tokens: one token when it decodes, a chunk of its prompt before. Then waiting sequences
are admitted in their order. A sequence whose KV cache cannot grow throws the youngest
running one out, which computes everything again later (preemption by recomputation).
Source: vLLM V1, vllm/v1/core/sched/scheduler.py.
"""

from collections import deque
from collections.abc import Callable

from proa.emulator.adapter_slots import AdapterSlots
from proa.emulator.kv import KvCache
from proa.emulator.profile import Batching, EngineProfile, KvLayout
from proa.emulator.sequence import Phase, Sequence, SequenceSpec
from proa.emulator.stats import EngineStats


class Step:
    """One step that was begun: who computes how many tokens, and for how long."""

    __slots__ = ("chunks", "duration_s", "prefill_s")

    def __init__(self, chunks: list[tuple[Sequence, int]]) -> None:
        self.chunks = chunks
        self.duration_s = 0.0
        self.prefill_s = 0.0


class Scheduler:
    """An engine's state between steps; a driver tells it the time.

    A driver alternates `begin_step` and, `duration_s` later, `end_step`; it may submit
    and cancel at any moment between them. `speed` divides the time of steps begun later.

    Not modelled:
        priorities, speculative decoding, copies of KV blocks on the host, the wait of a
        static batch for more requests (a batch starts with those that are there).
    """

    def __init__(self, profile: EngineProfile) -> None:
        self.profile = profile
        self.stats = EngineStats()
        self.kv = KvCache(blocks=profile.kv_blocks, block_tokens=profile.block_tokens)
        self.adapters = AdapterSlots(slots=profile.lora_slots, load_s=profile.lora_load_s)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self._step_time = profile.step
        self._is_static = profile.batching is Batching.STATIC
        self._is_contiguous = profile.kv is KvLayout.CONTIGUOUS
        self._caches_prefixes = profile.prefix_cache and not self._is_contiguous
        self._held: list[Sequence] = []
        self._budget_tokens = (
            profile.max_running * profile.context
            if self._is_static  # such engines do not cut prompts into chunks
            else profile.max_batched_tokens
        )
        self.speed = 1.0

    @property
    def takes_more(self) -> bool:
        """Whether the queue has room for one more sequence."""
        limit = self.profile.max_queued
        if limit is None:
            return True
        if self.profile.counts_running_in_queue:
            return len(self.waiting) + len(self.running) < limit
        free_places = max(0, self.profile.max_running - len(self.running))
        return len(self.waiting) < limit + free_places

    def submit(
        self,
        spec: SequenceSpec,
        now_s: float,
        on_token: Callable[[Sequence], None] | None = None,
    ) -> Sequence:
        """Put a sequence into the queue; callers ask `takes_more` first.

        Raises:
            ValueError: it could never run: too long, nothing to generate, or an adapter
                on an engine without LoRA.
        """
        if spec.prompt_tokens < 1 or spec.output_tokens < 1:
            raise ValueError("a sequence has at least one token of prompt and one of output")
        if spec.prompt_tokens + spec.output_tokens > self.profile.context:
            raise ValueError(f"a sequence has at most {self.profile.context} tokens")
        if spec.adapter and not self.profile.lora_slots:
            raise ValueError("there are no slots for LoRA adapters")
        sequence = Sequence(spec, now_s, on_token)
        self.waiting.append(sequence)
        return sequence

    def cancel(self, sequence: Sequence) -> None:
        """Forget a sequence; what it holds is free at once. One that ended is left alone."""
        if sequence.phase is Phase.ENDED:
            return
        if sequence.phase is Phase.WAITING:
            self.waiting.remove(sequence)
        else:
            self.running.remove(sequence)
            self._free(sequence)
        sequence.phase = Phase.ENDED
        self.stats.cancelled += 1
        self._open_batch()

    def begin_step(self, now_s: float) -> Step | None:
        """What is computed next; None when there is nothing to do."""
        step = Step([])
        left, preempted = self._continue_running(step)
        self._open_batch()
        load_s = 0.0 if preempted and self.running else self._admit(step, left, now_s)
        if not step.chunks:
            return None
        tokens = sum(chunk for _, chunk in step.chunks)
        sequences = len(step.chunks) + len(self._held)
        kv_tokens = sum(s.computed for s in self.running) if self._step_time.per_kv_token_s else 0
        prefill_s = (tokens - len(step.chunks)) / self.profile.prefill_tokens_per_s
        decode_s = self._step_time.step_s(sequences, kv_tokens)
        step.prefill_s = prefill_s / self.speed
        step.duration_s = (decode_s + prefill_s + load_s) / self.speed
        return step

    def end_step(self, step: Step, now_s: float) -> None:
        """Book what was computed; calls `on_token` of each sequence that got a token."""
        decoded, ended = 0, False
        for sequence, chunk in step.chunks:
            if sequence.phase is not Phase.RUNNING:
                continue  # cancelled meanwhile
            sequence.computed += chunk
            if sequence.computed < sequence.prompt_tokens + sequence.generated:
                continue  # more of its prompt in the next step
            if sequence.generated:
                decoded += 1
            else:
                self._book_first_token(sequence, now_s)
            sequence.generated += 1
            if sequence.generated == sequence.output_tokens:
                ended = True
                self._finish(sequence, now_s)
            if sequence.on_token is not None:
                sequence.on_token(sequence)
        self.stats.count_step(len(step.chunks), decoded, step.duration_s, step.prefill_s)
        if ended:
            self.running = [s for s in self.running if s.phase is Phase.RUNNING]
            self._open_batch()

    def _continue_running(self, step: Step) -> tuple[int, bool]:
        """Give running sequences their tokens; returns what is left, and whether any had to go."""
        left, preempted = self._budget_tokens, False
        grow = self.kv.grow
        for sequence in tuple(self.running):
            if sequence.phase is not Phase.RUNNING:
                continue  # thrown out by an older one in this loop
            rest = sequence.prompt_tokens + sequence.generated - sequence.computed
            chunk = min(rest, left)
            if not chunk:
                continue
            while not grow(sequence, sequence.computed + chunk):
                preempted = True
                youngest = self.running[-1]
                self._preempt(youngest)
                if youngest is sequence:
                    break
            else:
                step.chunks.append((sequence, chunk))
                left -= chunk
        return left, preempted

    def _admit(self, step: Step, left: int, now_s: float) -> float:
        """Take waiting sequences in their order; returns the seconds of loading adapters.

        One whose adapter has no slot is passed over; one that finds no room ends the round.
        """
        if self._is_static and (self.running or self._held):
            return 0.0
        load_s = 0.0
        passed: list[Sequence] = []
        reserve = self.profile.context if self._is_contiguous else 0
        while self.waiting and left and len(self.running) < self.profile.max_running:
            sequence = self.waiting.popleft()
            if not self.adapters.can_take(sequence.spec.adapter):
                passed.append(sequence)
                continue
            prefix = sequence.spec.prefix_hashes if self._caches_prefixes else ()
            if not self.kv.admit(sequence, prefix=prefix, reserve_tokens=reserve):
                passed.append(sequence)
                break
            load_s += self.adapters.take(sequence.spec.adapter)
            self._book_admission(sequence, now_s)
            chunk = min(sequence.tokens - sequence.computed, left)
            step.chunks.append((sequence, chunk))
            left -= chunk
        self.waiting.extendleft(reversed(passed))
        return load_s

    def _preempt(self, sequence: Sequence) -> None:
        self.running.remove(sequence)
        self._free(sequence)
        sequence.phase = Phase.WAITING
        sequence.computed = 0
        sequence.preemptions += 1
        self.waiting.appendleft(sequence)
        self.stats.preemptions += 1

    def _finish(self, sequence: Sequence, now_s: float) -> None:
        sequence.phase = Phase.ENDED
        sequence.finished_s = now_s
        if self._is_static:
            self._held.append(sequence)
        else:
            self._free(sequence)
        self.stats.count_end(sequence, now_s)

    def _open_batch(self) -> None:
        """A static batch gives its places back when its last sequence has ended."""
        if self._held and not self.running:
            for sequence in self._held:
                self._free(sequence)
            self._held = []

    def _free(self, sequence: Sequence) -> None:
        self.kv.release(sequence)
        self.adapters.give_back(sequence.spec.adapter)

    def _book_admission(self, sequence: Sequence, now_s: float) -> None:
        sequence.phase = Phase.RUNNING
        self.running.append(sequence)
        if sequence.admitted_s is None:
            sequence.admitted_s = now_s
            sequence.cached_tokens = sequence.computed
            self.stats.count_admission(sequence, now_s, is_query=self._caches_prefixes)

    def _book_first_token(self, sequence: Sequence, now_s: float) -> None:
        if self._caches_prefixes:
            self.kv.share_prompt(sequence)
        sequence.first_token_s = now_s
        self.stats.count_first_token(sequence, now_s)
