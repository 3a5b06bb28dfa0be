"""What SQLite and PostgreSQL have in common of keeping usage: `?` stands for a value."""

from collections.abc import Iterable, Sequence

from proa.store.usage import LIVE_S, LiveCount, Report, Standing, UsageCount, iso, ordinal

USAGE_COLUMNS = "day, tenant, writer, requests, input_tokens, output_tokens, cost_micro"
LIVE_COLUMNS = (
    "tenant, writer, told_s, requests, input_tokens, output_tokens, held_input, held_output"
)
_UPDATES = ("requests", "input_tokens", "output_tokens")


def table_texts(prefix: str) -> tuple[str, str]:
    """The statements that make the tables."""
    days = (
        f"CREATE TABLE IF NOT EXISTS {prefix}usage (day TEXT, tenant TEXT, writer TEXT, "
        "requests BIGINT, input_tokens BIGINT, output_tokens BIGINT, cost_micro BIGINT, "
        "PRIMARY KEY (day, tenant, writer))"
    )
    live = (
        f"CREATE TABLE IF NOT EXISTS {prefix}usage_live (tenant TEXT, writer TEXT, "
        "told_s DOUBLE PRECISION, requests BIGINT, input_tokens BIGINT, output_tokens BIGINT, "
        "held_input BIGINT, held_output BIGINT, PRIMARY KEY (tenant, writer))"
    )
    return days, live


def put_text(prefix: str) -> str:
    """Write a writer's count of one day."""
    updates = ", ".join(f"{c} = excluded.{c}" for c in (*_UPDATES, "cost_micro"))
    return (
        f"INSERT INTO {prefix}usage ({USAGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (day, tenant, writer) DO UPDATE SET {updates}"
    )


def put_values(report: Report) -> list[tuple[object, ...]]:
    return [
        (iso(c.day), c.tenant, report.writer, c.requests, c.input, c.output, c.cost)
        for c in report.counts
    ]


def live_text(prefix: str, now: str) -> str:
    """Write what is going on; `now` is the database's own Unix time."""
    columns = (*_UPDATES, "held_input", "held_output", "told_s")
    updates = ", ".join(f"{c} = excluded.{c}" for c in columns)
    return (
        f"INSERT INTO {prefix}usage_live ({LIVE_COLUMNS}) VALUES (?, ?, {now}, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (tenant, writer) DO UPDATE SET {updates}"
    )


def forget_text(prefix: str, now: str) -> str:
    """Delete what writers that ended were doing."""
    return f"DELETE FROM {prefix}usage_live WHERE told_s < {now} - {2 * LIVE_S}"


def live_values(report: Report) -> list[tuple[object, ...]]:
    return [
        (c.tenant, report.writer, c.requests, c.input, c.output, c.held_input, c.held_output)
        for c in report.live
    ]


def standing_texts(prefix: str, now: str) -> tuple[str, str]:
    """What others have counted this month (day, month's first day, day, writer), and lately."""
    tokens = "input_tokens + output_tokens"
    month = (
        f"SELECT tenant, SUM(CASE WHEN day = ? THEN {tokens} ELSE 0 END), SUM({tokens}), "
        f"SUM(cost_micro) FROM {prefix}usage WHERE day >= ? AND day <= ? AND writer <> ? "
        "GROUP BY tenant"
    )
    minute = (
        "SELECT tenant, SUM(requests), SUM(input_tokens), SUM(output_tokens), SUM(held_input), "
        f"SUM(held_output) FROM {prefix}usage_live WHERE told_s > {now} - {LIVE_S} "
        "AND writer <> ? GROUP BY tenant"
    )
    return month, minute


def standing_values(report: Report) -> tuple[tuple[object, ...], tuple[object, ...]]:
    day = iso(report.day)
    return (day, iso(report.month_began), day, report.writer), (report.writer,)


def standings(
    months: Iterable[Sequence[object]], minutes: Iterable[Sequence[object]]
) -> list[Standing]:
    """Of the rows of both questions."""
    live = {str(row[0]): LiveCount(str(row[0]), *map(_int, row[1:])) for row in minutes}
    known = {str(row[0]): tuple(map(_int, row[1:])) for row in months}
    found = []
    for name in dict.fromkeys([*known, *live]):
        day_tokens, month_tokens, cost = known.get(name, (0, 0, 0))
        now = live.get(name, LiveCount(name))
        found.append(Standing(name, day_tokens, month_tokens, cost, now))
    return found


def days_text(prefix: str) -> str:
    return (
        "SELECT day, tenant, SUM(requests), SUM(input_tokens), SUM(output_tokens), "
        f"SUM(cost_micro) FROM {prefix}usage WHERE day >= ? AND day <= ? "
        "GROUP BY day, tenant ORDER BY day, tenant"
    )


def count_of(row: Sequence[object]) -> UsageCount:
    return UsageCount(ordinal(str(row[0])), str(row[1]), *map(_int, row[2:]))


def _int(value: object) -> int:
    return int(value)  # type: ignore[call-overload, no-any-return]  # PostgreSQL sums are Decimal
