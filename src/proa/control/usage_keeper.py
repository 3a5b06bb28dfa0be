"""Takes what tenants used to its store, and what others used from there, four times a second.

Workers count in shared cells and never wait for a store. One that is gone holds nothing up:
counts go on here, what the store has not taken is written when it is back, whole, so that
nothing is lost or counted twice.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

from proa.control.settings import UsageSettings
from proa.errors import ProaError
from proa.routing.quota.account import Account
from proa.routing.quota.periods import Moment, first_day
from proa.routing.quota.used import Elsewhere
from proa.store.usage import LIVE_S, LiveCount, Report, Standing, UsageCount, UsageStore, open_usage
from proa.telemetry.logs import Log
from proa.telemetry.process import UsageView
from proa.telemetry.rows import SharedRows, Tenant, tenant_base

SYNC_EVERY_S = 0.25
_RETRY_S = (0.25, 0.5, 1.0, 2.0, 5.0)


class Counted(NamedTuple):
    """Where workers count: the cells, the accounts of all tenants, and when it is."""

    rows: SharedRows
    slots: Callable[[], Mapping[str, int]]
    moment: Callable[[], Moment]


class UsageKeeper:
    """One store at a time, used by one thread; `follow` changes to another one.

    `writer` is the name of this run.
    """

    def __init__(
        self, settings: UsageSettings | None, counted: Counted, log: Log, *, writer: str,
        open_store: Callable[[str], UsageStore] = open_usage,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._rows, self._slots, self._moment = counted
        self._log = log
        self._writer = writer
        self._open = open_store
        self._store: UsageStore | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="usage")
        self._syncing = asyncio.Lock()
        self._counts: dict[tuple[str, int], UsageCount] = {}
        self._saved: dict[tuple[str, int], UsageCount] = {}
        self._told_live: set[str] = set()
        self._failures = self._in_a_row = 0
        self._problem = ""

    @property
    def view(self) -> UsageView:
        """How it goes at this moment."""
        if self._settings is not None:
            self._count(self._slots())
        return UsageView(
            store="" if self._settings is None else self._settings.shown,
            unsaved=len(self._unsaved()),
            failures=self._failures,
            problem=self._problem,
        )

    async def run(self) -> None:
        """Four times a second, and after a fault a little later."""
        while True:
            await asyncio.sleep(
                _RETRY_S[min(self._in_a_row, len(_RETRY_S)) - 1] if self._in_a_row else SYNC_EVERY_S
            )
            await self.sync()

    async def sync(self) -> None:
        """Give the store what changed here, and take what others have counted."""
        async with self._syncing:
            settings = self._settings
            if settings is None:
                return
            moment, slots = self._moment(), self._slots()
            self._count(slots)
            report = self._report(moment, slots, with_live=settings.is_shared)
            if not (report.tenants or report.counts):
                return
            found = await self._do(lambda store: store.sync(report))
            if found is None:
                return
            for count in report.counts:
                self._saved[count.tenant, count.day] = count
            self._told_live = {live.tenant for live in report.live if live != _idle(live.tenant)}
            self._forget(moment.day)
            self._spread(found, moment, slots)

    async def follow(self, settings: UsageSettings | None) -> None:
        """Other settings; another store gets all that is counted in this run."""
        if settings == self._settings:
            return
        await self.sync()
        async with self._syncing:
            if self._settings is None or settings is None or settings.store != self._settings.store:
                await self._put_down()
                self._saved.clear()
                self._in_a_row, self._problem = 0, ""
            self._settings = settings
        await self.sync()

    async def close(self) -> None:
        """Write what is left once more, and leave."""
        await self.sync()
        await self._put_down()
        self._thread.shutdown(wait=False)

    # what is counted here

    def _count(self, slots: Mapping[str, int]) -> None:
        for tenant, slot in slots.items():
            for now in self._rows.account(slot).days():
                count = UsageCount(now.day, tenant, now.requests, now.input, now.output, now.cost)
                before = self._counts.get((tenant, now.day), count)
                if count.requests + count.input >= before.requests + before.input:
                    self._counts[tenant, now.day] = count  # else cells that begin a new day

    def _unsaved(self) -> list[UsageCount]:
        saved = self._saved
        return [count for place, count in self._counts.items() if saved.get(place) != count]

    def _forget(self, today: int) -> None:
        """Days that are over and kept."""
        for place in [p for p in self._counts if p[1] < today - 1]:
            if self._saved.get(place) == self._counts[place]:
                del self._counts[place], self._saved[place]

    def _report(self, moment: Moment, slots: Mapping[str, int], *, with_live: bool) -> Report:
        live: list[LiveCount] = []
        if with_live:
            now = [self._live(tenant, slot, moment) for tenant, slot in slots.items()]
            live = [each for each in now if each != _idle(each.tenant)]
            busy = {each.tenant for each in live}
            live += [_idle(tenant) for tenant in sorted(self._told_live - busy)]
        return Report(
            self._writer, moment.day, first_day(moment.month), tuple(slots), self._unsaved(), live
        )

    def _live(self, tenant: str, slot: int, moment: Moment) -> LiveCount:
        account: Account = self._rows.account(slot).copy()
        account.turn(moment)
        in_flight, base = self._rows.in_flight, tenant_base(slot)
        held = in_flight(base + Tenant.HELD_INPUT), in_flight(base + Tenant.HELD_OUTPUT)
        return LiveCount(tenant, *account.minute(), *held)

    # what others counted

    def _spread(self, found: list[Standing], moment: Moment, slots: Mapping[str, int]) -> None:
        """Into the cells that workers read."""
        standings = {standing.tenant: standing for standing in found}
        for tenant, slot in slots.items():
            other = standings.get(tenant, Standing(tenant))
            live = other.live
            self._rows.account(slot).elsewhere = Elsewhere(
                day=moment.day,
                day_tokens=other.day_tokens,
                month=moment.month,
                month_tokens=other.month_tokens,
                month_cost=other.month_cost,
                requests=live.requests,
                input=live.input,
                output=live.output,
                held_input=live.held_input,
                held_output=live.held_output,
                until_s=int(moment.now_s) + LIVE_S,
            )

    # the store

    async def _put_down(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            with suppress(ProaError):
                await asyncio.get_running_loop().run_in_executor(self._thread, store.close)

    async def _do(self, act: Callable[[UsageStore], list[Standing]]) -> list[Standing] | None:
        """What the store answers; a fault is logged when it begins and when it ends."""
        try:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._thread, self._act, act)
        except ProaError as error:
            self._failures += 1
            self._in_a_row += 1
            if self._problem != str(error):
                self._problem = str(error)
                self._log.event("error", "usage is not kept", error=self._problem)
            return None
        if self._problem:
            self._log.event("info", "usage is kept again")
        self._in_a_row, self._problem = 0, ""
        return found

    def _act(self, act: Callable[[UsageStore], list[Standing]]) -> list[Standing]:
        if self._store is None:
            assert self._settings is not None
            self._store = self._open(self._settings.store)
        return act(self._store)


def _idle(tenant: str) -> LiveCount:
    return LiveCount(tenant)
