"""Records are written beside everything else, whatever becomes of the store."""

from collections.abc import Sequence

import pytest

from proa.control import record_keeper
from proa.control.record_keeper import RecordKeeper
from proa.control.settings import RecordsSettings
from proa.domain.request_record import AdminAction, KeptRequest, RequestRecord
from proa.store.records import RecordQuery, RecordsFault, RecordStore
from proa.telemetry.logs import Log
from proa.telemetry.sink import LineSink

SETTINGS = RecordsSettings(store="sqlite:x", shown="sqlite:x", retention_days=1)
DAY_S = 86_400.0


class FakeStore:
    """A store in memory that can be told to fail, as no real one can be made to in a moment."""

    def __init__(self) -> None:
        self.kept: list[KeptRequest] = []
        self.done: list[AdminAction] = []
        self.fault = ""
        self.closed = 0

    def write(self, requests: Sequence[KeptRequest], actions: Sequence[AdminAction] = ()) -> None:
        if self.fault:
            raise RecordsFault(self.fault)
        self.kept += requests
        self.done += actions

    def requests(self, query: RecordQuery) -> list[KeptRequest]:
        raise NotImplementedError

    def actions(self, query: RecordQuery) -> list[AdminAction]:
        raise NotImplementedError

    def forget_before(self, time_s: float, *, at_most: int) -> int:
        old = [one for one in self.kept if one.ended_s < time_s][:at_most]
        self.kept = [one for one in self.kept if one not in old]
        return len(old)

    def close(self) -> None:
        self.closed += 1


def kept(number: int) -> KeptRequest:
    record = RequestRecord(
        request_id=str(number), method="POST", path="/", status=200, outcome="ok", duration_ms=1.0
    )
    return KeptRequest(float(number), record)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def lines() -> list[bytes]:
    return []


@pytest.fixture
def keeper(
    store: FakeStore, lines: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> RecordKeeper:
    log = Log(LineSink(str(tmp_path_factory.mktemp("log") / "log")))
    log.event = lambda level, message, **fields: lines.append(message.encode())  # type: ignore[method-assign]

    def open_store(url: str) -> RecordStore:
        assert url == SETTINGS.store
        return store

    return RecordKeeper(SETTINGS, log, clock=lambda: 10 * DAY_S, open_store=open_store)


async def test_what_is_taken_is_written(keeper: RecordKeeper, store: FakeStore) -> None:
    keeper.take([kept(1), kept(2)])
    action = AdminAction(at_s=1.0, who="a", method="POST", path="/", status=200)
    keeper.note(action)
    await keeper.write()
    assert (store.kept, store.done) == ([kept(1), kept(2)], [action])
    assert (keeper.view.written, keeper.view.waiting) == (2, 0)
    await keeper.close()
    assert store.closed == 1


async def test_a_store_that_fails_gets_it_later(
    keeper: RecordKeeper, store: FakeStore, lines: list[bytes]
) -> None:
    store.fault = "database or disk is full"
    keeper.take([kept(1)])
    for _ in range(3):
        await keeper.write()
    assert keeper.view.problem == "database or disk is full"
    assert lines == [b"request records are not written"]
    store.fault = ""
    keeper.take([kept(2)])
    await keeper.write()
    assert store.kept == [kept(1), kept(2)]
    assert keeper.view.problem == ""
    assert lines[1:] == [b"request records are written again"]
    await keeper.close()


async def test_beyond_the_bound_the_newest_are_lost_and_counted(
    keeper: RecordKeeper, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_keeper, "MOST_WAITING", 3)
    store.fault = "gone"
    keeper.take([kept(1), kept(2)])
    await keeper.write()
    keeper.take([kept(3), kept(4), kept(5)])
    assert (keeper.view.waiting, keeper.view.dropped) == (3, 2)
    store.fault = ""
    await keeper.write()
    assert store.kept == [kept(1), kept(2), kept(3)]
    await keeper.close()


async def test_the_old_are_forgotten(keeper: RecordKeeper, store: FakeStore) -> None:
    keeper.take([kept(1), kept(int(9.5 * DAY_S))])
    await keeper.write()
    await keeper.forget()
    assert store.kept == [kept(int(9.5 * DAY_S))]
    await keeper.close()


async def test_without_settings_nothing_is_kept(keeper: RecordKeeper, store: FakeStore) -> None:
    keeper.take([kept(1)])
    await keeper.follow(None)
    assert store.kept == [kept(1)]  # what came before went where it should
    assert store.closed == 1
    keeper.take([kept(2)])
    await keeper.write()
    assert (store.kept, keeper.view.store) == ([kept(1)], "")
    await keeper.close()
