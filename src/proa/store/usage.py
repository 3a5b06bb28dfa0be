"""Where the usage of tenants is kept: the interface, and who opens what.

Each writer (one run of one gateway) has counts of its own by tenant and day, and writes them
whole: writing again changes nothing, so that no fault on the way counts anything twice. What
a tenant used is the sum over writers.
"""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Protocol

import msgspec

from proa.errors import FieldError, UpstreamError

ACCEPTED = "sqlite:FILE, postgresql://USER@HOST/DATABASE or redis://HOST/NUMBER"
LIVE_S = 60
_SQLITE = "sqlite:"
_POSTGRES = ("postgresql://", "postgres://")
_REDIS = ("redis://", "rediss://", "unix://")
SHARED = (*_POSTGRES, *_REDIS)
"""Stores that several gateways may share."""


class UsageFault(UpstreamError):
    """The database of the usage could not do what it was asked for."""


class UsageCount(msgspec.Struct, frozen=True, order=True):
    """What a tenant used on one day (its ordinal); `cost` in millionths of its currency."""

    day: int
    tenant: str
    requests: int = 0
    input: int = 0
    output: int = 0
    cost: int = 0


class LiveCount(msgspec.Struct, frozen=True):
    """What a tenant has had in the last minute, and what its open requests hold."""

    tenant: str
    requests: int = 0
    input: int = 0
    output: int = 0
    held_input: int = 0
    held_output: int = 0


class Standing(msgspec.Struct, frozen=True):
    """What all writers but one have counted for a tenant; `live` is told within the last minute."""

    tenant: str
    day_tokens: int = 0
    month_tokens: int = 0
    month_cost: int = 0
    live: LiveCount = LiveCount("")


class Report(msgspec.Struct, frozen=True):
    """What a writer tells: counts that changed, whole, and what is going on now.

    `day` is today, `month_began` the ordinal of the month's first day; `tenants` are those
    whose standing is asked for.
    """

    writer: str
    day: int
    month_began: int
    tenants: Sequence[str]
    counts: Sequence[UsageCount] = ()
    live: Sequence[LiveCount] = ()


class UsageStore(Protocol):
    """One database of usage. Every call may wait: none belongs on an event loop.

    Raises:
        UsageFault: the database cannot be reached, is full, or refuses.
    """

    def sync(self, report: Report) -> list[Standing]:
        """Take the report in, all of it or nothing; those whom others have counted for."""

    def days(self, since: int, until: int) -> list[UsageCount]:
        """All counts from one day to another, both included, by day and tenant."""

    def close(self) -> None: ...


def open_usage(url: str, *, read_only: bool = False) -> UsageStore:
    """The store behind a URL; nothing is made where only reading is asked for.

    Raises:
        FieldError: no such kind of store.
        UsageFault: it cannot be opened.
    """
    if url.startswith(_SQLITE):
        from proa.store.usage_sqlite import SqliteUsage

        return SqliteUsage(Path(url.removeprefix(_SQLITE)), read_only=read_only)
    if url.startswith(_POSTGRES):
        from proa.store.usage_postgres import PostgresUsage

        return PostgresUsage(url, read_only=read_only)
    if url.startswith(_REDIS):
        from proa.store.usage_redis import RedisUsage

        return RedisUsage(url)
    raise FieldError("store", url.partition(":")[0], ACCEPTED)


def iso(day: int) -> str:
    """A day as it is written in databases."""
    return date.fromordinal(day).isoformat()


def ordinal(text: str) -> int:
    return date.fromisoformat(text).toordinal()
