"""How many requests an engine may have, and which engines have room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.fleet import EngineSpec
from proa.domain.load import EngineLoadView
from proa.gateway.link import NO_CAP, EngineLink
from proa.gateway.places import Places
from proa.routing.spec import BreakerSpec
from proa.telemetry.rows import ROW_CELLS

ROW = memoryview(bytearray(ROW_CELLS * 8)).cast("q")
counts = st.integers(0, 40)


def link(configured: int = 0) -> EngineLink:
    spec = EngineSpec(name="e", url="http://e:1", max_concurrent_requests=configured)
    return EngineLink(spec, ROW, 0, BreakerSpec())


@pytest.mark.parametrize(
    ("configured", "found", "foreign", "cap"),
    [
        (0, None, 9, NO_CAP),
        (5, None, 9, 5),  # what is configured is ours alone
        (5, 3, 9, 5),
        (0, 8, 3, 5),
        (0, 8, 8, 1),  # others never have all places
        (0, 8, 90, 1),
    ],
)
def test_the_cap(configured: int, found: int | None, foreign: int, cap: int) -> None:
    engine, places = link(configured), Places()
    view = EngineLoadView(name="e", max_concurrent=found, foreign=foreign)
    places.apply([engine], [view])
    assert engine.cap == cap
    assert places.is_limited is (cap < NO_CAP)


def test_the_sum_is_a_limit_of_its_own() -> None:
    engine, places = link(), Places()
    places.total = 3
    places.apply([engine], [EngineLoadView(name="e")])
    assert places.is_limited
    assert places.free([engine], [0], [2], [1.0]) == [0]
    assert places.free([engine], [0], [3], [1.0]) == []


def test_a_healthy_engine_is_waited_for_and_a_broken_one_not_used_in_its_place() -> None:
    full, broken, places = link(2), link(2), Places()
    places.apply([full, broken], [EngineLoadView(name="e")] * 2)
    assert places.free([full, broken], [0, 1], [2, 0], [1.0, 0.0]) == []
    assert places.free([full, broken], [0, 1], [2, 0], [0.0, 0.0]) == [1]


@given(st.lists(st.tuples(st.integers(0, 20), counts, st.booleans()), min_size=1, max_size=6))
def test_who_has_room_is_below_its_cap_and_some_engine_has_it(
    engines: list[tuple[int, int, bool]],
) -> None:
    links, places = [link(cap) for cap, _, _ in engines], Places()
    places.apply(links, [EngineLoadView(name="e")] * len(links))
    in_flight = [count for _, count, _ in engines]
    shares = [float(healthy) for _, _, healthy in engines]
    free = places.free(links, range(len(links)), in_flight, shares)
    considered = [i for i, share in enumerate(shares) if share] or list(range(len(links)))
    assert free == [i for i in considered if not engines[i][0] or in_flight[i] < engines[i][0]]
