"""One contract for all stores of request records, on real databases."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.postgres_server import PostgresServer, needs_postgres, postgres

from proa.domain.request_record import AdminAction, KeptRequest, RequestRecord
from proa.errors import FieldError
from proa.store.records import RecordQuery, RecordsFault, RecordStore, Status, open_records

ALL = RecordQuery(limit=1000)
Open = Callable[[], RecordStore]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RecordStore]:
    if request.param == "sqlite":
        opened = open_records(f"sqlite:{tmp_path / 'records.db'}")
    else:
        running: PostgresServer = request.getfixturevalue("server")
        opened = open_records(running.url)
        opened.forget_before(float("inf"), at_most=10_000)
    with closing(opened):
        yield opened


def kept(number: int, **values: object) -> KeptRequest:
    known: dict[str, object] = {
        "request_id": f"r{number}",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "outcome": "ok",
        "duration_ms": 12.5,
        "tenant": "영업",
    }
    record = RequestRecord(**known | values)  # type: ignore[arg-type]
    return KeptRequest(1000.0 + number, record)


def ids(found: list[KeptRequest]) -> list[str]:
    return [one.record.request_id for one in found]


def test_what_is_written_comes_back_whole(store: RecordStore) -> None:
    full = kept(
        1, key="k", model="m", route="r", engine="main", decision="policy=x", queued_ms=1.5,
        ttft_ms=80.25, bytes_in=2**40, bytes_out=3, prompt_tokens=7, completion_tokens=9,
        retries=1, hedged="aux", stream=True, pii={"email": 2},
    )  # fmt: skip
    store.write([full, kept(0)])
    assert store.requests(ALL) == [full, kept(0)]


def test_what_no_database_takes_is_written_all_the_same(store: RecordStore) -> None:
    store.write([kept(1, model="a\0b\ud800c")])
    assert store.requests(ALL)[0].record.model == "a\ufffdb?c"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (RecordQuery(limit=2), ["r4", "r3"]),
        (RecordQuery(since_s=1002.0, until_s=1004.0), ["r3", "r2"]),
        (RecordQuery(tenant="개발"), ["r2"]),
        (RecordQuery(status=429), ["r3"]),
        (RecordQuery(status="4xx"), ["r3"]),
        (RecordQuery(status="5xx"), ["r4"]),
        (RecordQuery(status="errors"), ["r4", "r3"]),
        (RecordQuery(pii=True), ["r1"]),
        (RecordQuery(key="k", engine="main"), ["r4"]),
        (RecordQuery(request_id="r0"), ["r0"]),
        (RecordQuery(tenant="'; DROP TABLE requests; --"), []),
    ],
)
def test_queries(store: RecordStore, query: RecordQuery, found: list[str]) -> None:
    store.write(
        [
            kept(0),
            kept(1, pii={"card": 1}),
            kept(2, tenant="개발"),
            kept(3, status=429, key="k"),
            kept(4, status=502, key="k", engine="main"),
        ]
    )
    assert ids(store.requests(query)) == found


def test_the_oldest_are_forgotten_first_and_in_small_steps(store: RecordStore) -> None:
    store.write([kept(number) for number in range(5)], [action(0.5), action(2000.0)])
    assert store.forget_before(1003.0, at_most=2) == 2
    assert ids(store.requests(ALL)) == ["r4", "r3", "r2"]
    assert store.forget_before(1003.0, at_most=100) == 2
    assert ids(store.requests(ALL)) == ["r4", "r3"]
    assert [one.at_s for one in store.actions(ALL)] == [2000.0]


def action(at_s: float) -> AdminAction:
    return AdminAction(at_s=at_s, who="ops", method="PATCH", path="/admin/engines/a", status=200)


def test_admin_actions_come_back(store: RecordStore) -> None:
    store.write([], [action(1.0), action(2.0)])
    assert store.actions(RecordQuery(limit=1)) == [action(2.0)]


def test_a_batch_is_written_whole_or_not_at_all(store: RecordStore) -> None:
    bad = kept(2)
    bad.record.status = None  # type: ignore[assignment]
    with pytest.raises(RecordsFault):
        store.write([kept(1), bad])
    assert store.requests(ALL) == []
    store.write([kept(1)])
    assert ids(store.requests(ALL)) == ["r1"]


def test_a_reader_does_not_hold_up_the_writer(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'records.db'}"
    with closing(open_records(url)) as writer:
        writer.write([kept(1)])
        with closing(sqlite3.connect(tmp_path / "records.db")) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM requests").fetchone() == (1,)
            began_s = time.perf_counter()
            writer.write([kept(2)])
            assert time.perf_counter() - began_s < 4  # the busy limit is 5
        with closing(open_records(url, read_only=True)) as other:
            assert ids(other.requests(ALL)) == ["r2", "r1"]
            with pytest.raises(RecordsFault, match="cannot be written"):
                other.write([kept(3)])


def test_the_file_is_for_this_user_alone(tmp_path: Path) -> None:
    with closing(open_records(f"sqlite:{tmp_path / 'records.db'}")):
        assert (tmp_path / "records.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_that_is_no_store_is_refused(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "records.db"
    path.write_bytes(b"not a database, whatever its name says")
    with pytest.raises(RecordsFault, match=r"records\.db .*not a database"):
        open_records(f"sqlite:{path}", read_only=read_only)
    assert path.read_bytes().startswith(b"not a database")


def test_reading_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(RecordsFault, match="cannot be opened"):
        open_records(f"sqlite:{tmp_path / 'none.db'}", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "records.db")) as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(RecordsFault, match="is of format 9; accepted is format 1"):
        open_records(f"sqlite:{tmp_path / 'records.db'}")


def test_other_stores_are_refused_without_their_password() -> None:
    with pytest.raises(FieldError, match="accepted is sqlite:FILE or postgresql://") as refused:
        open_records("mysql://me:secret@host/db")
    assert "secret" not in str(refused.value)


@needs_postgres
def test_a_dead_postgres_is_told_without_its_password_and_found_again() -> None:
    with postgres() as server:
        url = server.url.replace("postgres@", "postgres:secret@")
        with closing(open_records(url)) as store:
            store.write([kept(1)])
            server.stop()
            for _ in range(2):
                with pytest.raises(RecordsFault, match="PostgreSQL") as fault:
                    store.write([kept(2)])
                assert "secret" not in str(fault.value)
            server.start()
            store.write([kept(2)])
            assert ids(store.requests(ALL)) == ["r2", "r1"]


def test_statuses_are_classes_or_numbers() -> None:
    known: list[Status] = [200, "4xx", "5xx", "errors"]
    assert [RecordQuery(status=status).status for status in known] == known
