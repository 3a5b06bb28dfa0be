"""Quotas beside a model that remembers every request: how much is let in, and when."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.tenant import BudgetSpec, QuotaSpec
from proa.routing.quota.account import ACCOUNT_CELLS, Account, cost, denial
from proa.routing.quota.periods import Moment, Periods, first_day, month_of
from proa.routing.quota.used import MICRO, Elsewhere, Held, Kind, Used

MINUTE_S = 60
NOTHING = Held()


def account() -> Account:
    return Account(memoryview(bytearray(ACCOUNT_CELLS * 8)).cast("q"))


def at(now_s: float, day: int = 10, month: int = 5) -> Moment:
    return Moment(now_s, day, month, 1000.0, 5000.0)


def let_in(book: Account, quota: QuotaSpec, moment: Moment, held: Held = NOTHING) -> Used | None:
    """Ask as the gateway does: a request that is let in is counted."""
    book.turn(moment)
    refused = denial(book.used(quota, moment, held))
    if refused is None:
        book.came(moment)
    return refused


events = st.lists(
    st.tuples(
        st.floats(0, 40),  # since the event before
        st.integers(0, 60),  # input
        st.integers(0, 60),  # output held
        st.floats(0, 1),  # part of it that is used
        st.floats(0, 90),  # how long the request is open
    ),
    min_size=1,
    max_size=40,
)


@given(events, st.integers(1, 200), st.integers(1, 6))
def test_no_window_has_more_than_its_limit_and_one_request(
    asked: list[tuple[float, int, int, float, float]], tokens: int, requests: int
) -> None:
    quota = QuotaSpec(tokens_per_minute=tokens, requests_per_minute=requests)
    book, now = account(), 1000.0
    open_requests: list[tuple[float, int, int, int]] = []  # end, input, held output, used output
    ended: list[tuple[float, int]] = []
    begun: list[float] = []
    largest = 0
    for gap_s, size, limit, part, length_s in asked:
        now += gap_s
        for end in sorted(each for each in open_requests if each[0] <= now):
            open_requests.remove(end)
            book.turn(at(end[0]))
            book.settle(at(end[0]), Held(end[1], end[3]), 0)
            ended.append((end[0], end[1] + end[3]))
        held = Held(sum(r[1] for r in open_requests), sum(r[2] for r in open_requests))
        refused = let_in(book, quota, at(now), held)
        # whole seconds count until all of them is a minute ago
        first = int(now) - MINUTE_S
        counted = sum(held) + sum(n for end_s, n in ended if int(end_s) >= first)
        came = sum(int(start) >= first for start in begun)
        assert (refused is not None) == (counted >= tokens or came >= requests)
        if refused is None:
            begun.append(now)
            largest = max(largest, size + limit)
            open_requests.append((now + length_s, size, limit, int(limit * part)))
    ended += [(end_s, size + used) for end_s, size, _, used in open_requests]
    for start, _ in ended:
        inside = sum(n for end_s, n in ended if start <= end_s < start + MINUTE_S)
        assert inside <= tokens - 1 + largest
    for start in begun:
        assert sum(start <= each < start + MINUTE_S for each in begun) <= requests


@given(
    st.lists(st.tuples(st.integers(0, 70), st.integers(1, 50)), min_size=1, max_size=20),
    st.integers(1, 100),
)
def test_what_is_refused_passes_when_it_was_said_and_no_second_before(
    booked: list[tuple[int, int]], limit: int
) -> None:
    quota = QuotaSpec(input_tokens_per_minute=limit)
    book, now = account(), 500.25
    for gap_s, count in booked:
        now += gap_s
        book.turn(at(now))
        book.settle(at(now), Held(count, 0), 0)
    refused = denial(book.used(quota, at(now), Held()))
    if refused is None:
        return
    assert refused.passes_in_s is not None
    assert 0 < refused.passes_in_s <= MINUTE_S + 1
    before, after = at(now + refused.passes_in_s - 0.01), at(now + refused.passes_in_s)
    book.turn(before)
    assert denial(book.used(quota, before, Held())) is not None
    book.turn(after)
    assert denial(book.used(quota, after, Held())) is None


def test_five_parallel_requests_of_175_tokens_and_a_limit_of_100() -> None:
    """https://github.com/BerriAI/litellm/issues/18730"""
    quota, book, held, refused = QuotaSpec(tokens_per_minute=100), account(), Held(), 0
    for _ in range(5):
        if let_in(book, quota, at(7.0), held) is None:
            held = Held(held.input + 75, held.output + 100)
        else:
            refused += 1
    assert refused == 4
    assert denial(book.used(quota, at(7.0), held)) == Used(Kind.TOKENS_PER_MINUTE, 100, 175, None)


def test_days_months_and_money_count_to_their_ends() -> None:
    budget = BudgetSpec(
        per_month=2, currency="USD", per_million_input_tokens=1e5, per_million_output_tokens=2e5
    )
    quota = QuotaSpec(tokens_per_day=10, tokens_per_month=15, budget=budget)
    book = account()
    assert let_in(book, quota, at(1)) is None
    book.settle(at(1), Held(6, 4), cost(budget, 6, 4))
    day = let_in(book, quota, at(2))
    assert day is not None
    assert (day.kind, day.used, day.passes_in_s) == (Kind.TOKENS_PER_DAY, 10, 1000.0)
    assert day.kind.code == "insufficient_quota"
    assert let_in(book, quota, at(3, day=11)) is None
    book.settle(at(3, day=11), Held(1, 2), cost(budget, 1, 2))
    money = [used for used in book.used(quota, at(4, day=11), Held()) if used.kind is Kind.BUDGET]
    assert money == [Used(Kind.BUDGET, 2 * MICRO, 1_900_000, None)]
    refused = denial(book.used(quota, at(4, day=11), Held(1, 0)))
    assert refused is not None
    assert (refused.kind.code, refused.used) == ("budget_exhausted", 2 * MICRO)
    assert let_in(book, quota, at(5, day=42, month=6)) is None
    assert [count.day for count in sorted(book.days())] == [11, 42]


def test_what_is_used_elsewhere_counts_as_long_as_it_is_known() -> None:
    quota, book = QuotaSpec(tokens_per_minute=100, tokens_per_day=1000), account()
    assert book.copy().elsewhere == Elsewhere()
    told = Elsewhere(day=10, day_tokens=900, month=5, input=60, held_output=40, until_s=90)
    book.elsewhere = told
    assert book.elsewhere == told
    assert let_in(book, quota, at(89)) is not None
    assert let_in(book, quota, at(90)) is None
    day = book.used(quota, at(90), Held(100, 0))[1]
    assert (day.used, day.is_reached) == (1000, True)
    assert let_in(book, quota, at(91, day=11), Held(50)) is None


@pytest.mark.parametrize(
    ("unix", "zone", "day", "day_s", "month_s"),
    [
        (datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), "UTC", date(2026, 12, 31), 1, 1),
        (datetime(2026, 12, 31, 15, 0, 0, tzinfo=UTC), "Asia/Seoul", date(2027, 1, 1), 86400,
         31 * 86400),
        (datetime(2026, 3, 29, 0, 30, 0, tzinfo=UTC), "Europe/Berlin", date(2026, 3, 29),
         21.5 * 3600, 69.5 * 3600),
    ],
)  # fmt: skip
def test_days_and_months_end_by_their_zone(
    unix: datetime, zone: str, day: date, day_s: float, month_s: float
) -> None:
    periods = Periods(ZoneInfo(zone))
    moment = periods.at(unix.timestamp(), 5.0)
    assert (moment.day, moment.month) == (day.toordinal(), month_of(day))
    assert (moment.day_ends_in_s, moment.month_ends_in_s) == (day_s, month_s)
    assert date.fromordinal(first_day(moment.month)) == day.replace(day=1)
    following = periods.at(unix.timestamp() + day_s, 5.0 + day_s)
    assert following.day == moment.day + 1
