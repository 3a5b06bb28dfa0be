"""Usage in PostgreSQL, for any number of gateways: `proa_usage` and `proa_usage_live`."""

from typing import Any

from proa.store.postgres import Postgres
from proa.store.usage import Report, Standing, UsageCount, UsageFault, iso
from proa.store.usage_sql import (
    count_of,
    days_text,
    forget_text,
    live_text,
    live_values,
    put_text,
    put_values,
    standing_texts,
    standing_values,
    standings,
    table_texts,
)

_LOCK = 7_766_178
_PREFIX = "proa_"
_NOW = "EXTRACT(EPOCH FROM clock_timestamp())"


class PostgresUsage:
    """Connects when it is needed.

    Raises:
        InputError: the package psycopg is not installed.
        UsageFault: the database cannot be reached (at the first use, not at the opening).
    """

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        prepare = None if read_only else _prepare
        self._database = Postgres(url, "usage", fault=UsageFault, prepare=prepare, lock=_LOCK)

    def sync(self, report: Report) -> list[Standing]:
        month, minute = map(_marked, standing_texts(_PREFIX, _NOW))
        of_month, of_minute = standing_values(report)

        def act(cursor: Any) -> list[Standing]:
            if report.counts:
                cursor.executemany(_marked(put_text(_PREFIX)), put_values(report))
            if report.live:
                cursor.executemany(_marked(live_text(_PREFIX, _NOW)), live_values(report))
                cursor.execute(forget_text(_PREFIX, _NOW))
            months = cursor.execute(month, of_month).fetchall()
            return standings(months, cursor.execute(minute, of_minute).fetchall())

        done: list[Standing] = self._database.do(act)
        return done

    def days(self, since: int, until: int) -> list[UsageCount]:
        text, values = _marked(days_text(_PREFIX)), (iso(since), iso(until))
        return list(map(count_of, self._database.do(lambda c: c.execute(text, values).fetchall())))

    def close(self) -> None:
        self._database.close()


def _prepare(cursor: Any) -> None:
    for text in table_texts(_PREFIX):
        cursor.execute(text)


def _marked(text: str) -> str:
    return text.replace("?", "%s")
