"""What a feed amounts to: a true count when heard from the start, totals that never shrink."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from proa.control.kv_cache import KvCacheTrack
from proa.domain.load import CacheView
from proa.engines.kv_events import AllCleared, BlocksRemoved, BlocksStored, KvEvent, KvEventBatch


def fed(*batches: tuple[KvEvent, ...] | None, start: int = 0) -> KvCacheTrack:
    track = KvCacheTrack()
    for number, events in enumerate(batches, start):
        track.take(KvEventBatch(number, events))
    return track


def told(cached: int | None, evicted: int = 0, cleared: int = 0, lost: int = 0) -> CacheView:
    return CacheView(
        cached_tokens=cached, evicted_tokens_total=evicted, cleared_total=cleared, lost_total=lost
    )


STORED = (BlocksStored((1, 2, 3), 16),)


def test_nothing_is_told_before_the_first_batch() -> None:
    assert KvCacheTrack().view is None
    assert fed(()).view == told(0)


def test_stores_and_evictions() -> None:
    more = (BlocksStored((3, 4), 16), BlocksRemoved((1, 1)))
    assert fed(STORED, more).view == told(3 * 16, evicted=16)
    assert fed(STORED, more, (AllCleared(),)).view == told(0, evicted=16, cleared=1)


def test_who_joins_late_does_not_know_what_was_there() -> None:
    assert fed(STORED, (BlocksRemoved((8, 9)),), start=5).view == told(None, evicted=32)
    assert fed(STORED, (AllCleared(),), STORED, start=5).view == told(48, cleared=1)


def test_a_gap_empties_the_cache() -> None:
    track = fed(STORED)
    problem = track.take(KvEventBatch(4, STORED))
    assert problem == "3 batches before batch 4 are lost"
    assert track.view == told(None, cleared=1, lost=1)
    assert track.take(KvEventBatch(5, STORED)) == ""


def test_a_batch_that_cannot_be_read_empties_the_cache() -> None:
    track = fed(STORED)
    assert track.take(KvEventBatch(1, None)) == "batch 1 is not in the form of KV events"
    assert track.view == told(None, cleared=1, lost=1)


def test_an_engine_that_started_anew_has_an_empty_cache_and_loses_nothing() -> None:
    track = fed(STORED, (BlocksRemoved((1,)),), ())
    assert track.take(KvEventBatch(0, STORED)) == "the engine counts its batches anew"
    assert track.view == told(48, evicted=16, cleared=1)
    late = fed(STORED, (), ())
    late.take(KvEventBatch(1, STORED))
    assert late.view == told(None, cleared=1)


def test_memory_is_bounded() -> None:
    track = KvCacheTrack(most_blocks=2)
    track.take(KvEventBatch(0, STORED))
    track.take(KvEventBatch(1, (BlocksRemoved((1, 2)),)))
    assert track.view == told(None, evicted=32)


EVENTS = st.one_of(
    st.builds(BlocksStored, st.tuples(st.integers(0, 9), st.integers(0, 9)), st.integers(1, 64)),
    st.builds(BlocksRemoved, st.tuples(st.integers(0, 9))),
    st.just(AllCleared()),
)
BATCHES = st.builds(
    KvEventBatch, st.integers(0, 20), st.none() | st.lists(EVENTS, max_size=4).map(tuple)
)


@given(st.lists(BATCHES, max_size=30))
def test_totals_never_shrink_and_a_cache_never_holds_less_than_nothing(
    batches: list[KvEventBatch],
) -> None:
    track, views = KvCacheTrack(most_blocks=8), []
    for batch in batches:
        track.take(batch)
        assert track.view is not None
        views.append(track.view)
        assert track.view.cached_tokens is None or track.view.cached_tokens >= 0
    for one, two in pairwise(views):
        assert one.evicted_tokens_total <= two.evicted_tokens_total
        assert one.cleared_total <= two.cleared_total
        assert one.lost_total <= two.lost_total
