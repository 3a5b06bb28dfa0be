"""A small run of the simulation: what docs/bench-boundary.md tells of 1,000 servers, on 60."""

from functools import partial

import pytest
from benchmarks.boundary.families import families
from benchmarks.boundary.ours import SPEC, search
from benchmarks.boundary.peers import SEARCHES
from benchmarks.boundary.table import comparison_table

from proa.bench.statistics.search import users_search


def test_intervals_hold_the_truth_and_are_short() -> None:
    pooled = families(partial(search, spec=SPEC), 15)[-1]
    assert pooled.servers == 60
    assert 1 - pooled.missed >= 0.88
    assert pooled.median_width <= 2
    assert pooled.requests < 2200


def test_an_interval_that_is_too_short_would_be_seen() -> None:
    blind = families(partial(search, spec=users_search((8, 16, 24, 32, 40, 48), limit=0.1)), 5)[-1]
    assert 1 - blind.missed < 0.88


@pytest.mark.parametrize("name", SEARCHES)
def test_the_other_searches_find_cliffs_too(name: str) -> None:
    cliff = families(partial(SEARCHES[name], count=100), 10)[1]
    assert cliff.family == "cliff"
    assert cliff.missed <= 0.2
    assert cliff.median_width <= 2


def test_the_table_has_a_row_for_each_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.boundary.table.PROBES", (20,))
    rows = comparison_table(1).splitlines()
    assert len(rows) == 2 + 1 + len(SEARCHES)
    assert len({row.count("|") for row in rows}) == 1
