"""Evictions of engines in a worker's index: never more is believed, lost views lose nothing."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.load import CacheView, EngineLoad, EngineLoadView
from proa.domain.timing import EngineTiming, StepTime
from proa.routing.cache_mirror import UNDER_WAY_BLOCKS, CacheMirror
from proa.routing.prefix import PrefixIndex

MOST = 100_000


def view(
    name: str = "x", cached: int | None = 1000, evicted: int = 0, cleared: int = 0
) -> EngineLoadView:
    cache = CacheView(cached_tokens=cached, evicted_tokens_total=evicted, cleared_total=cleared)
    return EngineLoadView(name=name, cache=cache)


def filled(blocks: int, *engines: str) -> PrefixIndex:
    """Block 0 was used last."""
    index = PrefixIndex()
    for engine in engines or ("x",):
        index.record(range(blocks), engine, MOST)
    return index


def test_a_cleared_cache_is_forgotten_and_the_others_stay() -> None:
    index = filled(10, "x", "y")
    mirror = CacheMirror(index)
    mirror.apply([view("x", cleared=3), view("y")])
    assert (index.count("x"), index.count("y")) == (10, 10)
    mirror.apply([view("x", cleared=4), view("y")])
    assert (index.count("x"), index.count("y")) == (0, 10)
    index.record(range(5), "x", MOST)
    mirror.apply([view("x", cleared=4), view("y")])
    assert index.count("x") == 5


def test_the_share_that_the_engine_evicted_goes_and_the_oldest_first() -> None:
    index = filled(100)
    mirror = CacheMirror(index)
    mirror.apply([view(evicted=5000)])
    mirror.apply([view(evicted=5250, cached=750)])  # a quarter of what was there
    assert index.count("x") == 75
    assert index.matched(range(100), "x") == 75
    mirror.apply([view(evicted=5250, cached=750)])
    assert index.count("x") == 75


def test_little_waits_until_it_adds_up() -> None:
    index = filled(100)
    mirror = CacheMirror(index)
    mirror.apply([view()])
    mirror.apply([view(evicted=10)])
    assert index.count("x") == 100
    mirror.apply([view(evicted=20)])
    assert index.count("x") == 98


def test_where_the_cache_is_not_known_its_room_counts_and_else_the_tokens() -> None:
    index = filled(100, "x", "y")
    mirror = CacheMirror(index)
    room = EngineLoad(at_s=0.0, kv_tokens=300)
    timing = EngineTiming(step=StepTime(base_s=0.01, per_sequence_s=0.0), bytes_per_token=2.0)
    for evicted in (0, 100):
        x = msgspec.structs.replace(view("x", cached=None, evicted=evicted), load=room)
        y = msgspec.structs.replace(view("y", cached=None, evicted=10 * evicted), timing=timing)
        mirror.apply([x, y])
    assert (index.count("x"), index.count("y")) == (
        75,
        100 - 8,
    )  # 1,000 tokens of 2 bytes are 7.8 blocks


def test_no_more_is_believed_than_is_cached() -> None:
    index = filled(3 * UNDER_WAY_BLOCKS)
    mirror = CacheMirror(index)
    mirror.apply([view(cached=0)])
    assert index.count("x") == 3 * UNDER_WAY_BLOCKS
    cached = 64 * 1000  # tokens of 4 bytes in 1,000 blocks
    mirror.apply([view(cached=cached, evicted=cached // 50)])
    assert index.count("x") == UNDER_WAY_BLOCKS + 2 * 1000


def test_a_feed_that_begins_anew_under_the_same_name_is_an_empty_cache() -> None:
    index = filled(10)
    mirror = CacheMirror(index)
    mirror.apply([view(evicted=100)])
    mirror.apply([view(evicted=40)])
    assert index.count("x") == 0


def test_without_a_feed_nothing_is_forgotten() -> None:
    index = filled(10)
    mirror = CacheMirror(index)
    for _ in range(2):
        mirror.apply([EngineLoadView(name="x"), EngineLoadView(name="z")])
    assert index.count("x") == 10


@st.composite
def histories(draw: st.DrawFn) -> list[CacheView]:
    """Totals that grow as a feed's do."""
    evicted = cleared = 0
    views = []
    for _ in range(draw(st.integers(1, 8))):
        evicted += draw(st.integers(0, 400))
        cleared += draw(st.integers(0, 6)) == 6
        cached = draw(st.one_of(st.none(), st.integers(0, 2000)))
        views.append(
            CacheView(cached_tokens=cached, evicted_tokens_total=evicted, cleared_total=cleared)
        )
    return views


@given(histories(), st.sets(st.integers(1, 6)))
def test_never_more_is_believed_than_before(history: list[CacheView], missed: set[int]) -> None:
    index = filled(60, "x", "y")
    mirror = CacheMirror(index)
    for number, cache in enumerate(history):
        if number in missed and number < len(history) - 1:
            continue
        before = {block for block in range(60) if index.matched([block], "x")}
        mirror.apply([EngineLoadView(name="x", cache=cache), EngineLoadView(name="y")])
        after = {block for block in range(60) if index.matched([block], "x")}
        assert after <= before
        assert after == set(range(len(after)))  # the oldest have gone
        assert index.count("y") == 60
    if history[-1].cleared_total != history[0].cleared_total:
        assert index.count("x") == 0


@given(st.integers(1, 5000), st.integers(0, 5000), st.integers(1, 4))
def test_one_look_or_several_come_to_the_same(cached: int, evicted: int, looks: int) -> None:
    """The cache stays full: what is evicted is what is stored."""
    few, many = filled(1000), filled(1000)
    once, often = CacheMirror(few), CacheMirror(many)
    once.apply([view(cached=cached)])
    once.apply([view(cached=cached, evicted=evicted)])
    for look in range(looks + 1):
        often.apply([view(cached=cached, evicted=evicted * look // looks)])
    # several looks take new blocks into account that one look cannot tell from old ones
    assert many.count("x") <= few.count("x") + 1000 // 64 + looks


@pytest.mark.parametrize("answer_blocks", [0, 6, 20])
def test_what_is_believed_of_an_lru_cache_is_there_and_little_is_missed(answer_blocks: int) -> None:
    """An engine of 400 blocks that also caches answers; without a feed up to a third is wrong."""
    rng, index, cache = Random(1), PrefixIndex(), dict[int, None]()
    mirror, evicted, fresh = CacheMirror(index), 0, 10**6
    wrong = missed = right = 0
    for _ in range(1000):
        conversation = min(int(rng.paretovariate(0.6)), 300)
        prompt = range(conversation * 100, conversation * 100 + 8)
        believed = index.matched(prompt, "x")
        true = next((n for n, block in enumerate(prompt) if block not in cache), len(prompt))
        wrong += max(0, believed - true)
        missed += max(0, true - believed)
        right += min(true, believed)
        index.record(prompt, "x", MOST)
        fresh += answer_blocks
        for block in (*reversed(prompt), *range(fresh - answer_blocks, fresh)):
            cache.pop(block, None)
            cache[block] = None
        while len(cache) > 400:
            del cache[next(iter(cache))]
            evicted += 1
        mirror.apply([view(cached=len(cache) * 64, evicted=evicted * 64)])
    assert wrong <= 0.01 * right
    assert missed <= 0.2 * right
