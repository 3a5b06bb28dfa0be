"""Writes request records to their store, in batches and beside everything else.

A store that is full, slow or gone holds nothing up: what it does not take waits up to a
bound, then the newest are lost and counted.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from proa.control.settings import RecordsSettings
from proa.domain.request_record import AdminAction, KeptRequest
from proa.errors import ProaError
from proa.store.records import RecordStore, open_records
from proa.telemetry.logs import Log
from proa.telemetry.process import RecordsView

MOST_WAITING = 100_000
WRITE_EVERY_S = 0.5
_BATCH = 5_000
_RETRY_S = (1.0, 2.0, 5.0, 10.0, 30.0)
_DAY_S = 86_400.0
_FORGET_EVERY_S = 600.0
_FORGET_AT_ONCE = 5_000


class RecordKeeper:
    """One store at a time, used by one thread; `follow` changes to another one.

    `clock` is Unix time, and tells what is too old.
    """

    def __init__(
        self, settings: RecordsSettings | None, log: Log, *, clock: Callable[[], float],
        open_store: Callable[[str], RecordStore] = open_records,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._log = log
        self._clock = clock
        self._open = open_store
        self._store: RecordStore | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="records")
        self._requests: list[KeptRequest] = []
        self._actions: list[AdminAction] = []
        self._written = self._dropped = self._failures = 0
        self._problem = ""
        self._forgot_at_s = 0.0

    @property
    def view(self) -> RecordsView:
        """How it goes at this moment."""
        return RecordsView(
            store="" if self._settings is None else self._settings.shown,
            waiting=len(self._requests),
            written=self._written,
            dropped=self._dropped,
            problem=self._problem,
        )

    def take(self, requests: Sequence[KeptRequest]) -> None:
        """Records of requests that ended; without a store they are let go."""
        if self._settings is None:
            return
        room = max(0, MOST_WAITING - len(self._requests))
        self._requests += requests[:room]
        self._dropped += max(0, len(requests) - room)

    def note(self, action: AdminAction) -> None:
        """Something that was done over the admin API."""
        if self._settings is not None and len(self._actions) < MOST_WAITING:
            self._actions.append(action)

    async def run(self) -> None:
        """Write twice a second, and after a fault a little later; forget what is too old."""
        while True:
            wait_s = WRITE_EVERY_S
            if self._failures:
                wait_s = _RETRY_S[min(self._failures, len(_RETRY_S)) - 1]
            await asyncio.sleep(wait_s)
            await self.write()
            await self.forget()

    async def write(self) -> None:
        """All that waits, as far as the store takes it."""
        while self._settings is not None and (self._requests or self._actions):
            requests, actions = self._requests[:_BATCH], self._actions[:_BATCH]
            if not await self._do(partial(_write, requests, actions)):
                return
            del self._requests[: len(requests)], self._actions[: len(actions)]
            self._written += len(requests)

    async def forget(self) -> None:
        """Delete what is older than it may be, in steps that hold up no writing for long."""
        settings, now_s = self._settings, self._clock()
        if settings is None or not settings.retention_days:
            return
        if now_s - self._forgot_at_s < _FORGET_EVERY_S:
            return
        before_s = now_s - settings.retention_days * _DAY_S
        deleted = [0]

        def step(store: RecordStore) -> None:
            deleted[0] = store.forget_before(before_s, at_most=_FORGET_AT_ONCE)

        while await self._do(step):
            if deleted[0] < _FORGET_AT_ONCE:
                self._forgot_at_s = now_s
                return
            await self.write()

    async def follow(self, settings: RecordsSettings | None) -> None:
        """Other settings: what waits for the store before is written to it first."""
        if settings == self._settings:
            return
        await self.write()
        await self._put_down()
        self._settings = settings
        self._failures, self._problem, self._forgot_at_s = 0, "", 0.0

    async def close(self) -> None:
        """Write what waits once more, and leave."""
        await self.write()
        await self._put_down()
        self._thread.shutdown(wait=False)

    async def _put_down(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            with suppress(ProaError):
                await asyncio.get_running_loop().run_in_executor(self._thread, store.close)

    async def _do(self, act: Callable[[RecordStore], None]) -> bool:
        """Whether the store did it; a fault is logged when it begins and when it ends."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._act, act)
        except ProaError as error:
            self._failures += 1
            if self._problem != str(error):
                self._problem = str(error)
                self._log.event("error", "request records are not written", error=self._problem)
            return False
        if self._problem:
            self._log.event("info", "request records are written again")
        self._failures, self._problem = 0, ""
        return True

    def _act(self, act: Callable[[RecordStore], None]) -> None:
        if self._store is None:
            assert self._settings is not None
            self._store = self._open(self._settings.store)
        act(self._store)


def _write(
    requests: Sequence[KeptRequest], actions: Sequence[AdminAction], store: RecordStore
) -> None:
    store.write(requests, actions)
