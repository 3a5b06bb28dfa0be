"""Usage goes to its store and comes from there beside serving, whatever becomes of the store."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from proa.control.settings import UsageSettings
from proa.control.tenant_standings import standing, tenants_document
from proa.control.usage_keeper import Counted, UsageKeeper
from proa.domain.tenant import BudgetSpec, QuotaSpec
from proa.routing.quota.periods import Moment
from proa.routing.quota.used import Held
from proa.store.usage import LiveCount, Report, Standing, UsageCount, UsageFault, UsageStore
from proa.telemetry.logs import Log
from proa.telemetry.process import UsageView
from proa.telemetry.rows import SharedRows, Tenant, tenant_base
from proa.telemetry.sink import LineSink

SETTINGS = UsageSettings(store="redis://x", shown="redis://x", is_shared=True)
DAY, MONTH = 739_000, 24_320
SLOTS = {"default": 0, "sales": 1}


class FakeStore:
    """A store in memory that can be told to fail, as no real one can be made to in a moment."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.answer: list[Standing] = []
        self.fault = ""
        self.closed = 0

    def sync(self, report: Report) -> list[Standing]:
        if self.fault:
            raise UsageFault(self.fault)
        self.reports.append(report)
        return self.answer

    def days(self, since: int, until: int) -> list[UsageCount]:
        raise NotImplementedError

    def close(self) -> None:
        self.closed += 1

    def counts(self) -> list[Sequence[UsageCount]]:
        return [report.counts for report in self.reports]


class Gateway:
    """Cells as workers fill them, and the keeper beside them."""

    def __init__(self, settings: UsageSettings | None = SETTINGS) -> None:
        self.rows = SharedRows.create(2)
        self.rows.use(1)
        self.now = Moment(100.0, DAY, MONTH, 500.0, 5000.0)
        self.stores: list[FakeStore] = []
        counted = Counted(self.rows, lambda: SLOTS, lambda: self.now)
        log = Log(LineSink("/dev/null"))
        self.keeper = UsageKeeper(settings, counted, log, writer="w", open_store=self.open)

    @property
    def store(self) -> FakeStore:
        return self.stores[-1]

    def open(self, url: str) -> UsageStore:
        assert url
        self.stores.append(FakeStore())
        return self.store

    def use(self, tokens: int, name: str = "sales") -> None:
        """A request of so many tokens of input and of output."""
        account = self.rows.account(SLOTS[name])
        account.turn(self.now)
        account.came(self.now)
        account.settle(self.now, Held(tokens, tokens), 7)

    def hold(self, tokens: int) -> None:
        self.rows.rows[1][tenant_base(SLOTS["sales"]) + Tenant.HELD_OUTPUT] = tokens

    def on(self, day: int, month: int, now_s: float) -> None:
        self.now = Moment(now_s, day, month, 500.0, 5000.0)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    yield made
    made.keeper._thread.shutdown()


def count(requests: int, tokens: int, day: int = DAY) -> UsageCount:
    return UsageCount(day, "sales", requests, tokens, tokens, 7 * requests)


async def test_what_changed_is_told_whole_and_what_is_the_same_is_not(gateway: Gateway) -> None:
    gateway.use(10)
    gateway.hold(5)
    await gateway.keeper.sync()
    await gateway.keeper.sync()
    gateway.use(20)
    gateway.hold(0)
    await gateway.keeper.sync()
    assert gateway.store.counts() == [[count(1, 10)], [], [count(2, 30)]]
    live = [report.live for report in gateway.store.reports]
    assert live[0] == live[1] == [LiveCount("sales", 1, 10, 10, 0, 5)]
    assert live[2] == [LiveCount("sales", 2, 30, 30)]
    gateway.on(DAY, MONTH, 200.0)
    await gateway.keeper.sync()
    await gateway.keeper.sync()
    assert [report.live for report in gateway.store.reports[3:]] == [[LiveCount("sales")], []]


async def test_what_others_used_is_in_the_cells_of_the_workers(gateway: Gateway) -> None:
    await gateway.keeper.sync()
    gateway.store.answer = [Standing("sales", 40, 50, 60, LiveCount("sales", 1, 2, 3, 4, 5))]
    await gateway.keeper.sync()
    account = gateway.rows.account(SLOTS["sales"])
    told = account.elsewhere
    assert (told.day, told.day_tokens, told.month_tokens, told.month_cost) == (DAY, 40, 50, 60)
    assert (told.requests, told.input, told.held_output, told.until_s) == (1, 2, 5, 160)
    quota = QuotaSpec(tokens_per_day=100, requests_per_minute=3, budget=BudgetSpec(per_month=1))
    gateway.use(10)
    seen = standing(gateway.rows, SLOTS["sales"], quota, gateway.now)
    assert [used.used for used in seen.limits] == [2, 40 + 20 + 9, 60 + 7]
    usage = UsageView(store="x", standings=lambda: {"sales": seen})
    document: Any = tenants_document(
        usage, {"sales": {"name": "sales"}, "other": {"name": "other"}}
    )
    sales, other = document["tenants"]
    assert sales["today"] == {
        "requests": 1, "input_tokens": 10, "output_tokens": 10, "cost": 7e-6
    }  # fmt: skip
    assert sales["limits"][2] == {
        "limit": "budget.per_month", "allowed": 1.0, "used": 67e-6, "passes_in_s": None
    }  # fmt: skip
    assert other == {"name": "other"}


async def test_a_store_that_is_gone_is_caught_up_with_over_days(gateway: Gateway) -> None:
    await gateway.keeper.sync()
    gateway.store.fault = "no room"
    for passed in range(4):
        gateway.on(DAY + passed, MONTH, 100.0 + passed)
        gateway.use(10 + passed)
        await gateway.keeper.sync()
    view = gateway.keeper.view
    assert (view.unsaved, view.failures, view.problem) == (4, 4, "no room")
    gateway.store.fault = ""
    await gateway.keeper.sync()
    assert sorted(gateway.store.counts()[-1]) == [
        count(1, 10 + passed, DAY + passed) for passed in range(4)
    ]
    view = gateway.keeper.view
    assert (view.unsaved, view.failures, view.problem) == (0, 4, "")


async def test_another_store_gets_all_of_this_run(gateway: Gateway) -> None:
    gateway.use(10)
    await gateway.keeper.sync()
    first = gateway.store
    await gateway.keeper.follow(UsageSettings(store="sqlite:x", shown="sqlite:x"))
    assert first.closed == 1
    assert gateway.store is not first
    assert gateway.store.counts() == [[count(1, 10)]]
    assert [report.live for report in gateway.store.reports] == [[]]  # nobody else is there
    await gateway.keeper.follow(None)
    gateway.use(10)
    await gateway.keeper.sync()
    assert (len(gateway.stores), gateway.store.closed, gateway.keeper.view.store) == (2, 1, "")
    await gateway.keeper.close()


async def test_what_is_counted_but_not_looked_at_yet_is_not_saved(gateway: Gateway) -> None:
    await gateway.keeper.sync()
    assert gateway.keeper.view.unsaved == 0
    gateway.use(1)
    assert gateway.keeper.view.unsaved == 1


async def test_without_a_store_nothing_is_opened() -> None:
    gateway = Gateway(None)
    gateway.use(1)
    await gateway.keeper.sync()
    await gateway.keeper.close()
    assert gateway.stores == []
