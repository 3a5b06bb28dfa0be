"""Who is late is learned; hedges stay a share of the traffic and go to idle engines only."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.routing.hedging import (
    LEAST_SEEN,
    SAVED_HEDGES,
    Durations,
    Hedging,
    Standing,
    idle_engine,
    is_short,
)

CHAT = b"/v1/chat/completions"


def seen(seconds: list[float]) -> Durations:
    durations = Durations()
    for duration in seconds:
        durations.observe(duration)
    return durations


@given(st.lists(st.floats(0.002, 1000.0), min_size=LEAST_SEEN, max_size=900))
def test_the_percentile_is_at_most_a_tenth_too_high(seconds: list[float]) -> None:
    p95_s = seen(seconds).p95_s
    exact = sorted(seconds)[ceil(0.95 * len(seconds)) - 1]
    above = sorted(seconds)[min(len(seconds) - 1, ceil(0.95 * len(seconds)))]
    assert p95_s is not None
    assert exact * 0.999 <= p95_s <= above * 1.101


def test_nothing_is_late_before_enough_was_seen() -> None:
    assert seen([1.0] * (LEAST_SEEN - 1)).p95_s is None
    assert seen([1.0] * LEAST_SEEN).p95_s == pytest.approx(1.05, rel=0.06)


@given(st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_what_an_engine_became_is_learned(before_s: float, after_s: float) -> None:
    p95_s = seen([before_s] * 2000 + [after_s] * 12_000).p95_s
    assert p95_s == pytest.approx(after_s * 1.05, rel=0.06)


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e-9, 1e9])
def test_odd_durations_are_taken(seconds: float) -> None:
    assert seen([seconds] * LEAST_SEEN).p95_s is not None


@given(st.lists(st.sampled_from(("ended", "asked")), max_size=600), st.floats(0.0, 0.2))
def test_hedges_never_exceed_the_share_over_any_stretch(steps: list[str], share: float) -> None:
    hedging = Hedging(share)
    requests, hedges, least = 0, 0, 0.0
    for step in steps:
        if step == "ended":
            hedging.ended("kind", 1.0)
            requests += 1
        elif hedging.withdraw():
            hedges += 1
        assert hedges <= share * requests + 1e-9
        excess = hedges - share * requests
        assert excess - least <= SAVED_HEDGES + 1e-9
        least = min(least, excess)


@given(st.one_of(st.floats(0.0, 1.0), st.floats(1.1, 10.0)))
def test_late_is_whoever_waits_longer_than_the_others_of_its_kind(waited_s: float) -> None:
    hedging = Hedging(0.03)
    for _ in range(LEAST_SEEN):
        hedging.ended("kind", 1.0)
    assert hedging.is_late("kind", waited_s) is (waited_s > 1.0)
    assert not hedging.is_late("another", waited_s)


def test_nobody_is_late_without_a_hedge_to_spend() -> None:
    hedging = Hedging(0.03)
    for _ in range(LEAST_SEEN):
        hedging.ended("kind", 1.0)
    while hedging.withdraw():
        assert hedging.is_late("kind", 10.0) or not hedging.withdraw()
    assert not hedging.is_late("kind", 10.0)


def test_another_share_starts_anew_and_forgets_no_duration() -> None:
    hedging = Hedging(0.03)
    for _ in range(LEAST_SEEN):
        hedging.ended("kind", 1.0)
    hedging.allow(0.03)
    assert hedging.is_late("kind", 10.0)
    hedging.allow(0.5)
    assert not hedging.withdraw()
    for _ in range(2):
        hedging.ended("kind", None)
    assert hedging.is_late("kind", 10.0)


STANDING = st.builds(
    Standing,
    engine=st.integers(0, 20),
    in_flight=st.integers(0, 2),
    foreign=st.integers(0, 2),
    share=st.sampled_from((0.0, 0.1, 0.99, 1.0)),
    step_s=st.floats(0.001, 0.1),
    is_preferred=st.booleans(),
)


@given(st.lists(STANDING, max_size=8, unique_by=lambda e: e.engine))
def test_only_idle_healthy_engines_are_taken_and_the_best_of_them(engines: list[Standing]) -> None:
    idle = {e.engine: e for e in engines if (e.in_flight, e.foreign, e.share) == (0, 0, 1.0)}
    index = idle_engine(engines)
    if not idle:
        assert index is None
        return
    assert index is not None
    taken = idle[index]
    for other in idle.values():
        assert taken.is_preferred or not other.is_preferred
        assert taken.is_preferred > other.is_preferred or taken.step_s <= other.step_s


@pytest.mark.parametrize(
    ("target", "max_tokens", "body_bytes", "short"),
    [
        (CHAT, 256, 100, True),
        (CHAT, 257, 100, False),
        (CHAT, None, 100, False),
        (CHAT, 16, 65_537, False),
        (b"/v1/completions", 1, 100, True),
        (b"/v1/messages", 100, 100, True),
        (b"/v1/embeddings", None, 65_536, True),
        (b"/v1/rerank", None, 100, True),
        (b"/v1/score", None, 100, True),
        (b"/v1/responses", 16, 100, False),
        (b"/v1/load_lora_adapter", 16, 100, False),
        (b"/v1/audio/transcriptions", None, 100, False),
        (b"/api/chat", 16, 100, False),
        (b"/v1/embeddings?x=1", None, 100, False),
    ],
)
def test_what_is_short(target: bytes, max_tokens: int | None, body_bytes: int, short: bool) -> None:
    assert is_short(target, max_tokens, body_bytes) is short
