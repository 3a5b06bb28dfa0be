"""One contract for all stores of usage, on real databases."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from tests.store.postgres_server import PostgresServer, needs_postgres, postgres
from tests.store.redis_server import RedisServer, needs_redis, redis

from proa.errors import FieldError
from proa.store.usage import (
    LiveCount,
    Report,
    Standing,
    UsageCount,
    UsageFault,
    open_usage,
)

_MONTHS = itertools.count(24_000)
KINDS = [
    "sqlite",
    pytest.param("postgres", marks=needs_postgres),
    pytest.param("redis", marks=needs_redis),
]


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresServer]:
    with postgres() as running:
        yield running


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with redis() as running:
        yield running


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'usage.db'}"
    server: PostgresServer | RedisServer = request.getfixturevalue(f"{request.param}_server")
    return server.url


@pytest.fixture
def began() -> int:
    """The first day of a month that no other test has."""
    month = next(_MONTHS)
    return date(month // 12, month % 12 + 1, 1).toordinal()


def report(writer: str, began: int, day: int = 4, **values: object) -> Report:
    return Report(writer, began + day, began, ("sales", "연구|소"), **values)  # type: ignore[arg-type]


def test_what_a_writer_tells_again_counts_once(url: str, began: int) -> None:
    first = UsageCount(began + 3, "sales", 1, 10, 20, 30)
    counts = [first, UsageCount(began + 4, "sales", 2, 100, 200, 2**53 - 500)]
    more = UsageCount(began + 4, "sales", 3, 101, 202, 2**53 - 400)
    with closing(open_usage(url)) as store:
        for _ in range(2):
            assert store.sync(report("a", began, counts=counts)) == []
        store.sync(report("a", began, counts=[more]))
        store.sync(report("b", began, counts=[UsageCount(began + 4, "연구|소", 1, 1, 1, 1)]))
        assert store.days(began, began + 27) == [
            first,
            more,
            UsageCount(began + 4, "연구|소", 1, 1, 1, 1),
        ]
        assert store.days(began + 4, began + 4)[0] == more
        assert store.days(began + 5, began + 9) == []
    with closing(open_usage(url)) as again:
        (standing,) = again.sync(report("b", began))
        assert standing == Standing("sales", 303, 333, 2**53 - 370, standing.live)
        assert again.sync(report("a", began))[0].month_cost == 1
        assert again.sync(report("b", began, day=5))[0].day_tokens == 0


def test_what_others_do_now_is_known_to_all(url: str, began: int) -> None:
    with closing(open_usage(url)) as store:
        store.sync(report("a", began, live=[LiveCount("sales", 1, 2, 3, 4, 5)]))
        store.sync(report("b", began, live=[LiveCount("sales", 10, 20, 30, 40, 50)]))
        (seen,) = store.sync(report("c", began))
        assert seen.live == LiveCount("sales", 11, 22, 33, 44, 55)
        store.sync(report("a", began, live=[LiveCount("sales")]))
        (seen,) = store.sync(report("c", began))
        assert seen.live == LiveCount("sales", 10, 20, 30, 40, 50)
        assert store.sync(report("b", began)) in ([], [Standing("sales", live=LiveCount("sales"))])
        store.sync(report("b", began, live=[LiveCount("sales")]))


def test_many_writers_at_once_lose_nothing(url: str, began: int) -> None:
    def write(number: int) -> None:
        with closing(open_usage(url)) as store:
            for count in range(1, 11):
                told = [UsageCount(began, "sales", count, count, 0, 0)]
                store.sync(report(f"w{number}", began, counts=told))

    with closing(open_usage(url)), ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    with closing(open_usage(url)) as store:
        assert store.days(began, began) == [UsageCount(began, "sales", 40, 40, 0, 0)]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_server_that_was_gone_is_used_again(
    kind: str, request: pytest.FixtureRequest, began: int
) -> None:
    server: PostgresServer | RedisServer = request.getfixturevalue(f"{kind}_server")
    with closing(open_usage(server.url)) as store:
        told = report("a", began, counts=[UsageCount(began, "sales", 1, 2, 3, 4)])
        store.sync(told)
        server.stop()
        with pytest.raises(UsageFault):
            store.sync(told)
        server.start()
        store.sync(told)
        assert store.days(began, began) == list(told.counts)


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(FieldError, match="sqlite:FILE"):
        open_usage("mysql://x")
    with pytest.raises(UsageFault, match="cannot be opened"):
        open_usage(f"sqlite:{tmp_path / 'none' / 'usage.db'}")
    with pytest.raises(UsageFault, match="cannot be opened"):
        open_usage(f"sqlite:{tmp_path / 'usage.db'}", read_only=True)
    with (
        closing(open_usage("postgresql://nobody@/x?host=/nowhere")) as store,
        pytest.raises(UsageFault, match="PostgreSQL"),
    ):
        store.days(1, 2)
