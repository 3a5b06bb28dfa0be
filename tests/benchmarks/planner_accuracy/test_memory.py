"""The accuracy that was reached on start-up logs is not lost again."""

import pytest
from benchmarks.planner_accuracy.boots import boot_rows
from benchmarks.planner_accuracy.memory import MemoryCase, by_kind, memory_cases, memory_stats

# As recorded: shares of pinned cases within 1, 3 and 5 % of the logged tokens.
RECORDED = {
    "all": (0.92, 0.98, 0.98),
    "dense": (0.95, 1.0, 1.0),
    "moe": (0.90, 0.97, 0.97),
    "mla": (0.93, 1.0, 1.0),
    "hybrid": (0.93, 1.0, 1.0),
    "windows": (0.87, 0.87, 0.87),
    "quantised": (0.94, 1.0, 1.0),
    "amd": (0.83, 0.91, 0.91),
}


@pytest.fixture(scope="module")
def cases() -> list[MemoryCase]:
    return memory_cases(boot_rows())


@pytest.fixture(scope="module")
def pinned(cases: list[MemoryCase]) -> list[MemoryCase]:
    return [case for case in cases if case.row.is_pinned]


def test_there_are_enough_cases(pinned: list[MemoryCase]) -> None:
    assert len(pinned) >= 140
    assert len({case.row.model for case in pinned}) >= 30


@pytest.mark.parametrize("kind", list(RECORDED))
def test_no_kind_gets_worse(pinned: list[MemoryCase], kind: str) -> None:
    stats = by_kind(pinned)[kind]
    reached = (stats.within_1, stats.within_3, stats.within_5)
    assert all(have >= least for have, least in zip(reached, RECORDED[kind], strict=True))


def test_the_targets_hold(pinned: list[MemoryCase]) -> None:
    stats = memory_stats(pinned)
    assert stats.within_3 >= 0.90
    assert stats.within_5 >= 0.97


def test_nothing_far_off_is_said_without_a_doubt(cases: list[MemoryCase]) -> None:
    assert [
        case.row.id for case in cases if abs(case.error) > 0.1 and not case.plan.uncertain
    ] == []


def test_nothing_is_said_to_fit_that_did_not(cases: list[MemoryCase]) -> None:
    assert [case.row.id for case in cases if case.is_false_fit] == []


def test_weights_are_the_logged_ones(pinned: list[MemoryCase]) -> None:
    errors = sorted(
        abs(case.plan.weights_bytes / 2**30 / case.row.weights_gib - 1)
        for case in pinned
        if case.row.weights_gib
    )
    assert errors[len(errors) // 2] < 0.005
    assert errors[int(0.9 * len(errors))] < 0.025
