"""A database that is there and says nothing is a fault like one that is gone, after a while."""

import os
from contextlib import closing
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest
from tests.store.postgres_server import PostgresServer, needs_postgres, postgres

from proa.store import postgres as module
from proa.store.records import RecordQuery, RecordsFault
from proa.store.records_postgres import PostgresRecords
from proa.store.usage import Report, UsageCount, UsageFault
from proa.store.usage_postgres import PostgresUsage

DAY = 739_000
TOLD = Report("one", DAY, DAY, ("sales",), (UsageCount(DAY, "sales", requests=1, input=5),))


def processes(server: PostgresServer) -> list[int]:
    """The server's own, and those of its connections."""
    first = (server._data / "postmaster.pid").read_text().split()[0]
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [int(first), *map(int, children)]


@needs_postgres
def test_a_postgres_that_hangs_is_told_in_time_and_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        postgres() as server,
        closing(PostgresUsage(server.url)) as usage,
        closing(PostgresRecords(server.url)) as records,
    ):
        usage.sync(TOLD)
        records.write([])
        monkeypatch.setattr(module, "_ANSWER_S", 0.3)
        hung = processes(server)
        for process in hung:
            os.kill(process, SIGSTOP)
        try:
            with pytest.raises(UsageFault):
                usage.sync(TOLD)
            with pytest.raises(RecordsFault):
                records.requests(RecordQuery())
        finally:
            for process in hung:
                os.kill(process, SIGCONT)
        monkeypatch.undo()
        usage.sync(TOLD)
        assert usage.days(DAY, DAY) == list(TOLD.counts)
        assert records.requests(RecordQuery()) == []
