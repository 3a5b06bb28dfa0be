"""The counts of one tenant, and what it may still have.

A request is let in as long as each of its tenant's limits is not reached, with what open
requests hold counted as used; it may then go beyond. So a limit is exceeded by one request
at most, if each request uses no more than it held, and never left unused. Tokens count when
the answer has ended, requests when they come.
"""

from proa.domain.tenant import BudgetSpec, QuotaSpec
from proa.routing.quota.periods import Moment
from proa.routing.quota.used import MICRO, DayCount, Elsewhere, Held, Kind, Used
from proa.routing.quota.window import RING_CELLS, advance, book, booked, empty_in_s, passes_in_s

_REQUESTS = 0
_INPUT = RING_CELLS
_OUTPUT = 2 * RING_CELLS
_DAYS = 3 * RING_CELLS
_DAY_CELLS = 5
_MONTH = _DAYS + 2 * _DAY_CELLS
_ELSEWHERE = _MONTH + 3
ACCOUNT_CELLS = 216
_UNKNOWN = Elsewhere()


class Account:
    """One tenant's cells, `ACCOUNT_CELLS` of them; who calls it holds the tenant's lock."""

    __slots__ = ("_cells", "_input", "_output", "_requests")

    def __init__(self, cells: memoryview) -> None:
        self._cells = cells
        self._requests = cells[_REQUESTS:_INPUT]
        self._input = cells[_INPUT:_OUTPUT]
        self._output = cells[_OUTPUT:_DAYS]

    def copy(self) -> "Account":
        """One of its own for who only looks, without a lock."""
        return Account(memoryview(bytearray(self._cells)).cast("q"))

    def turn(self, moment: Moment) -> None:
        """Forget what does not count any more."""
        second = int(moment.now_s)
        for ring in (self._requests, self._input, self._output):
            advance(ring, second)
        cells, base = self._cells, _day_base(moment.day)
        if cells[base] != moment.day:
            cells[base : base + _DAY_CELLS] = _zeros(_DAY_CELLS)
            cells[base] = moment.day
        if cells[_MONTH] != moment.month:
            cells[_MONTH : _MONTH + 3] = _zeros(3)
            cells[_MONTH] = moment.month

    def came(self, moment: Moment) -> None:
        """A request was let in."""
        book(self._requests, 1)
        self._cells[_day_base(moment.day) + 1] += 1

    def settle(self, moment: Moment, used: Held, cost: int) -> None:
        """A request has ended and used so much."""
        book(self._input, used.input)
        book(self._output, used.output)
        cells, base = self._cells, _day_base(moment.day)
        cells[base + 2] += used.input
        cells[base + 3] += used.output
        cells[base + 4] += cost
        cells[_MONTH + 1] += used.input + used.output
        cells[_MONTH + 2] += cost

    def used(self, quota: QuotaSpec, moment: Moment, held: Held) -> list[Used]:
        """All limits of the quota, after `turn`."""
        other = self.elsewhere
        minute = other if moment.now_s < other.until_s else _UNKNOWN
        held = Held(held.input + minute.held_input, held.output + minute.held_output)
        found = self._of_minute(quota, moment, held, minute)
        found += self._of_calendar(quota, moment, held, other)
        return found

    def _of_minute(
        self, quota: QuotaSpec, moment: Moment, held: Held, minute: Elsewhere
    ) -> list[Used]:
        ins, outs = self._input, self._output
        input_, output = held.input + minute.input, held.output + minute.output
        table = (
            (Kind.REQUESTS_PER_MINUTE, (self._requests,), minute.requests),
            (Kind.TOKENS_PER_MINUTE, (ins, outs), input_ + output),
            (Kind.INPUT_TOKENS_PER_MINUTE, (ins,), input_),
            (Kind.OUTPUT_TOKENS_PER_MINUTE, (outs,), output),
        )
        found = []
        for kind, rings, more in table:
            limit: int = getattr(quota, kind.value)
            if limit:
                wait_s = passes_in_s(rings, moment.now_s, limit, more)
                found.append(Used(kind, limit, more + sum(map(booked, rings)), wait_s))
        return found

    def _of_calendar(
        self, quota: QuotaSpec, moment: Moment, held: Held, other: Elsewhere
    ) -> list[Used]:
        cells, day = self._cells, _day_base(moment.day)
        today = other if other.day == moment.day else _UNKNOWN
        month = other if other.month == moment.month else _UNKNOWN
        open_tokens, budget = held.input + held.output, quota.budget
        day_tokens = cells[day + 2] + cells[day + 3] + today.day_tokens
        month_tokens = cells[_MONTH + 1] + month.month_tokens
        table = [
            (Kind.TOKENS_PER_DAY, quota.tokens_per_day, day_tokens, open_tokens,
             moment.day_ends_in_s),
            (Kind.TOKENS_PER_MONTH, quota.tokens_per_month, month_tokens, open_tokens,
             moment.month_ends_in_s),
        ]  # fmt: skip
        if budget is not None:
            spent = cells[_MONTH + 2] + month.month_cost
            table.append((Kind.BUDGET, int(budget.per_month * MICRO), spent, cost(budget, *held),
                          moment.month_ends_in_s))  # fmt: skip
        return [
            Used(kind, limit, settled + more, ends_in_s if settled >= limit else None)
            for kind, limit, settled, more, ends_in_s in table
            if limit or kind is Kind.BUDGET
        ]

    def full_in_s(self, moment: Moment, *, requests: bool) -> float:
        """Seconds until the whole limit of a minute is there again, if nothing is added."""
        rings = (self._requests,) if requests else (self._input, self._output)
        return empty_in_s(rings, moment.now_s)

    # for who keeps the counts

    def minute(self) -> tuple[int, int, int]:
        """Requests, input and output tokens of the last minute, after `turn`."""
        return booked(self._requests), booked(self._input), booked(self._output)

    def days(self) -> list[DayCount]:
        """The days that are still here, up to two, as they were counted here."""
        starts = (_DAYS, _DAYS + _DAY_CELLS)
        counts = [DayCount(*self._cells[base : base + _DAY_CELLS]) for base in starts]
        return [count for count in counts if count.day]

    @property
    def elsewhere(self) -> Elsewhere:
        return Elsewhere(*self._cells[_ELSEWHERE : _ELSEWHERE + len(Elsewhere._fields)])

    @elsewhere.setter
    def elsewhere(self, told: Elsewhere) -> None:
        for cell, value in enumerate(told, _ELSEWHERE):
            self._cells[cell] = value


def cost(budget: BudgetSpec | None, input_tokens: int, output_tokens: int) -> int:
    """Millionths of the budget's currency, rounded up."""
    if budget is None:
        return 0
    exact = (
        input_tokens * budget.per_million_input_tokens
        + output_tokens * budget.per_million_output_tokens
    )
    return -int(-exact // 1)


def denial(found: list[Used]) -> Used | None:
    """The limit that keeps a request out, the one that passes last; None lets it in."""
    reached = [used for used in found if used.is_reached]
    return max(reached, key=lambda used: used.passes_in_s or 0.0, default=None)


def _day_base(day: int) -> int:
    return _DAYS + day % 2 * _DAY_CELLS


def _zeros(count: int) -> memoryview:
    return memoryview(bytes(count * 8)).cast("q")
