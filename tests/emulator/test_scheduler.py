"""Continuous and static batching: what is scheduled, in which order, and that nothing is lost."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.profiles import asked, hashes, small

from proa.emulator.profile import Batching, EngineProfile, KvLayout, misfit
from proa.emulator.scheduler import Scheduler
from proa.emulator.sequence import Phase, Sequence


class Clock:
    """Drives a scheduler step by step."""

    def __init__(self, profile: EngineProfile) -> None:
        self.scheduler = Scheduler(profile)
        self.now_s = 0.0
        self.tokens: Counter[Sequence] = Counter()
        self.ended: list[Sequence] = []
        self.durations_s: list[float] = []

    def submit(self, *args: Any, **more: Any) -> Sequence:
        return self.scheduler.submit(asked(*args, **more), self.now_s, self._on_token)

    def step(self) -> bool:
        step = self.scheduler.begin_step(self.now_s)
        if step is None:
            return False
        self.now_s += step.duration_s
        self.durations_s.append(step.duration_s)
        self.scheduler.end_step(step, self.now_s)
        return True

    def run(self) -> None:
        while self.step():
            pass

    def _on_token(self, sequence: Sequence) -> None:
        self.tokens[sequence] += 1
        if sequence.is_done:
            self.ended.append(sequence)


def test_each_step_gives_each_running_sequence_one_token() -> None:
    clock = Clock(small())
    one, two = clock.submit(10, 3), clock.submit(10, 5)
    clock.step()
    assert (one.generated, two.generated) == (1, 1)
    clock.run()
    assert clock.tokens == {one: 3, two: 5}
    assert clock.ended == [one, two]


def test_the_step_time_grows_with_running_sequences() -> None:
    clock = Clock(small())
    clock.submit(1, 2)
    clock.submit(1, 1)
    clock.run()
    assert clock.durations_s == pytest.approx([1.2e-3, 1.1e-3])


def test_the_step_time_grows_with_what_the_kv_cache_holds() -> None:
    clock = Clock(small(step_per_kv_token_us=10.0))
    clock.submit(100, 2)
    clock.run()
    assert clock.durations_s == pytest.approx([1.1e-3, 1.1e-3 + 100 * 10e-6])


def test_prompts_cost_time_and_are_cut_into_chunks() -> None:
    clock = Clock(small(prefill_tokens_per_s=1000.0, max_batched_tokens=64))
    long = clock.submit(100, 1)
    clock.step()
    assert (long.computed, long.generated) == (64, 0)
    clock.step()
    assert long.generated == 1
    assert clock.durations_s == pytest.approx([1.1e-3 + 0.063, 1.1e-3 + 0.035])


def test_a_long_prompt_does_not_stop_the_others() -> None:
    clock = Clock(small(max_batched_tokens=64))
    first = clock.submit(10, 20)
    clock.step()
    long = clock.submit(200, 1)
    while not long.is_done:
        before = first.generated
        clock.step()
        assert first.generated == before + 1


def test_waiting_ones_start_in_their_order_when_places_become_free() -> None:
    clock = Clock(small(max_running=2))
    sequences = [clock.submit(10, 3) for _ in range(5)]
    clock.run()
    assert clock.ended == sequences
    starts = [sequence.admitted_s for sequence in sequences]
    assert starts == sorted(starts)  # type: ignore[type-var]


def test_a_full_kv_cache_throws_the_youngest_out_and_it_computes_again() -> None:
    clock = Clock(small(kv_tokens=256, context=256))
    old, young = clock.submit(120, 60), clock.submit(120, 60)
    clock.run()
    assert (old.preemptions, young.preemptions) == (0, 1)
    assert clock.tokens == {old: 60, young: 60}
    assert clock.scheduler.stats.preemptions == 1
    assert clock.scheduler.kv.used_blocks == 0


def test_a_cached_prefix_is_not_computed_again() -> None:
    clock = Clock(small(prefill_tokens_per_s=1000.0))
    prefix = hashes("a", "b", "c", "d")
    first = clock.submit(65, 1, prefix_hashes=prefix)
    clock.run()
    second = clock.submit(65, 1, prefix_hashes=prefix)
    clock.run()
    assert (first.cached_tokens, second.cached_tokens) == (0, 64)
    assert clock.durations_s == pytest.approx([1.1e-3 + 0.064, 1.1e-3])
    assert (clock.scheduler.stats.prefix_queries, clock.scheduler.stats.prefix_hits) == (130, 64)


@pytest.mark.parametrize("off", [{"prefix_cache": False}, {"kv": KvLayout.CONTIGUOUS}])
def test_without_a_prefix_cache_everything_is_computed(off: dict[str, Any]) -> None:
    clock = Clock(small(**off))
    for _ in range(2):
        clock.submit(65, 1, prefix_hashes=hashes("a", "b", "c", "d"))
        clock.run()
    assert clock.scheduler.stats.prefix_hits == clock.scheduler.stats.prefix_queries == 0


def test_contiguous_kv_reserves_the_whole_context() -> None:
    clock = Clock(small(kv=KvLayout.CONTIGUOUS))  # 1024 tokens for contexts of 256
    for _ in range(8):
        clock.submit(10, 5)
    clock.step()
    assert (len(clock.scheduler.running), len(clock.scheduler.waiting)) == (4, 4)
    assert clock.scheduler.kv.use == 1.0


def test_a_static_batch_begins_together_and_holds_its_places_to_its_end() -> None:
    clock = Clock(small(batching=Batching.STATIC, max_running=2))
    short, long, next_one = clock.submit(10, 1), clock.submit(10, 4), clock.submit(10, 1)
    clock.run()
    assert clock.ended == [short, long, next_one]
    assert next_one.admitted_s == long.finished_s
    assert clock.durations_s[:4] == pytest.approx([1.2e-3] * 4)  # the ended one still counts


def test_an_adapter_without_a_slot_waits_and_lets_others_pass() -> None:
    clock = Clock(small(lora_slots=1, lora_load_s=0.5))
    one = clock.submit(10, 3, adapter="a")
    two = clock.submit(10, 3, adapter="b")
    three = clock.submit(10, 3)
    clock.run()
    assert clock.ended == [one, three, two]
    assert clock.durations_s[0] == pytest.approx(0.5 + 1.2e-3)


@pytest.mark.parametrize(
    ("kind", "limit", "taken"),
    [("vllm", None, 12), ("vllm", 5, 5), ("tgi", 5, 5), ("sglang", 3, 5), ("llamacpp", 0, 2)],
)
def test_the_limit_of_the_queue_counts_as_the_engine_counts(
    kind: str, limit: int | None, taken: int
) -> None:
    clock = Clock(small(kind=kind, max_queued=limit, max_running=2))
    count = 0
    while count < 12 and clock.scheduler.takes_more:
        clock.submit()
        count += 1
    assert count == taken


def test_a_cancelled_sequence_gives_everything_back_at_once() -> None:
    clock = Clock(small(max_running=1, lora_slots=1))
    one, two = clock.submit(10, 50, adapter="a"), clock.submit(10, 2, adapter="b")
    clock.step()
    clock.scheduler.cancel(one)
    assert clock.scheduler.kv.used_blocks == 0
    assert clock.scheduler.adapters.in_use == ()
    clock.scheduler.cancel(two)
    clock.scheduler.cancel(two)
    assert not clock.step()
    assert clock.scheduler.stats.cancelled == 2


def test_a_cancelled_batch_makes_place_for_the_next_one() -> None:
    clock = Clock(small(batching=Batching.STATIC))
    short, long = clock.submit(10, 1), clock.submit(10, 50)
    clock.step()
    assert short.is_done
    clock.scheduler.cancel(long)
    assert clock.scheduler.kv.used_blocks == 0
    clock.submit(10, 1)
    assert clock.step()


def test_speed_divides_the_time_of_steps() -> None:
    clock = Clock(small())
    clock.submit(1, 2)
    clock.step()
    clock.scheduler.speed = 0.2
    clock.step()
    assert clock.durations_s == pytest.approx([1.1e-3, 5.5e-3])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (asked(0), "at least one"),
        (asked(1, 0), "at least one"),
        (asked(200, 57), "at most 256"),
        (asked(adapter="a"), "no slots"),
    ],
)
def test_what_could_never_run_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scheduler(small()).submit(spec, 0.0)


PROFILES = st.builds(
    small,
    kv_tokens=st.integers(256, 600),
    max_running=st.integers(1, 6),
    max_batched_tokens=st.integers(8, 80),
    block_tokens=st.sampled_from([1, 16, 64]),
    batching=st.sampled_from(Batching),
    kv=st.sampled_from(KvLayout),
    prefix_cache=st.booleans(),
    lora_slots=st.just(2),
    lora_load_s=st.just(0.01),
).filter(lambda profile: misfit(profile) is None)


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    prompt = draw(st.integers(1, 200))
    family = draw(st.sampled_from("xy"))
    return {
        "prompt": prompt,
        "output": draw(st.integers(1, 256 - prompt)),
        "prefix_hashes": hashes(*(f"{family}{block}" for block in range(prompt // 64))),
        "adapter": draw(st.sampled_from(["", "", "a", "b", "c"])),
    }


@given(
    profile=PROFILES,
    plan=st.lists(st.tuples(specs(), st.integers(0, 12), st.booleans()), max_size=12),
)
def test_nothing_is_lost_and_nothing_is_held_too_much(
    profile: EngineProfile, plan: list[tuple[dict[str, Any], int, bool]]
) -> None:
    """Every sequence ends with exactly its tokens, unless cancelled; capacity is never exceeded."""
    clock = Clock(profile)
    kept: list[Sequence] = []
    cancelled: list[Sequence] = []
    for more, steps, cancels in plan:
        sequence = clock.submit(**more)
        (cancelled if cancels else kept).append(sequence)
        for _ in range(steps):
            clock.step()
            check(clock)
        if cancels:
            clock.scheduler.cancel(sequence)
    while clock.step():
        check(clock)
    assert not clock.scheduler.waiting  # work conserving: nobody waits before an idle engine
    assert {one: clock.tokens[one] for one in kept} == {one: one.output_tokens for one in kept}
    assert all(clock.tokens[one] <= one.output_tokens for one in cancelled)
    assert all(one.phase is Phase.ENDED for one in kept + cancelled)
    assert (clock.scheduler.kv.used_blocks, clock.scheduler.adapters.in_use) == (0, ())


def check(clock: Clock) -> None:
    scheduler, profile = clock.scheduler, clock.scheduler.profile
    assert len(scheduler.running) <= profile.max_running
    assert len(scheduler.adapters.resident) <= profile.lora_slots
    assert 0 <= scheduler.kv.used_blocks <= scheduler.kv.blocks


@given(
    profile=PROFILES, sizes=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=15)
)
def test_first_come_first_admitted(profile: EngineProfile, sizes: list[tuple[int, int]]) -> None:
    clock = Clock(profile)
    sequences = [clock.submit(prompt, output) for prompt, output in sizes]
    clock.run()
    admissions = [sequence.admitted_s for sequence in sequences]
    assert admissions == sorted(admissions)  # type: ignore[type-var]
