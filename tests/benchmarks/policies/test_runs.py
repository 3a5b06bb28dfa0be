"""The search for the most users, and what a level's answers amount to."""

import pytest
from benchmarks.policies.runs import LevelStats, most_users, stats
from benchmarks.policies.users import Answer


def level(users: int, *, passes: bool) -> LevelStats:
    return LevelStats(users, 100, 100 if passes else 50, 0, 0.0, 0.0)


@pytest.mark.parametrize("limit", [0, 31, 58, 59, 60, 77])
async def test_the_search_ends_close_to_the_limit_from_below(limit: int) -> None:
    async def measure(users: int) -> LevelStats:
        return level(users, passes=users <= limit)

    found, levels = await most_users(measure, 58, step=4, tries=40)
    assert limit - 2 < found <= limit or found == limit == 0
    assert [each.users for each in levels] == sorted(each.users for each in levels)


def answer(tokens: int, seconds: float) -> Answer:
    return Answer(0.0, tokens, first_s=0.1, last_s=0.1 + seconds)


def test_failures_are_not_good_and_stay_in_the_denominator() -> None:
    failed = Answer(0.0, 100)
    found = stats(2, [answer(31, 0.9), answer(31, 1.1), failed], 1, 0.0, 10.0)
    assert (found.requests, found.good) == (3, 1)
    assert found.good_tokens_per_s == pytest.approx(3.0)
    assert not found.passes
