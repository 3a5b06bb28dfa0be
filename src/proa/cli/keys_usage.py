"""`proa keys usage`: what tenants used by day, out of the store of [usage]."""

import argparse
import csv
import json
import os
import sys
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from proa.cli.texts import Texts, columns, padded
from proa.config.document import read_document
from proa.config.faults import ConfigFaults
from proa.config.usage import usage_settings
from proa.control.settings import UsageSettings
from proa.errors import FieldError, InputError
from proa.routing.quota.used import MICRO
from proa.store.usage import UsageCount, iso, open_usage

_FIELDS = ("day", "tenant", "requests", "input_tokens", "output_tokens", "cost")
_DAY = "a date such as 2026-12-31"


def configure_usage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, default=Path("proa.toml"), metavar="FILE")
    parser.add_argument("--store", metavar="URL", help="in place of the file's [usage]")
    parser.add_argument("--tenant", metavar="NAME", help="only this one")
    parser.add_argument("--since", metavar="DATE", help="from this day on; else this month")
    parser.add_argument("--until", metavar="DATE", help="up to this day, which counts; else today")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text")


def print_usage(args: argparse.Namespace, texts: Texts, now_s: float) -> None:
    """The days asked for, each tenant's; in text with a sum for each tenant.

    Raises:
        InputError: a day that is none, or no store.
        UsageFault: the store cannot be read.
    """
    settings = _settings(args)
    today = datetime.fromtimestamp(now_s, UTC).astimezone(ZoneInfo(settings.time_zone)).date()
    since = _day("--since", args.since, today.replace(day=1))
    until = _day("--until", args.until, today)
    with closing(open_usage(settings.store, read_only=True)) as store:
        found = store.days(since, until)
    counts = [count for count in found if args.tenant in (None, count.tenant)]
    rows = [_row(count) for count in counts]
    if args.format == "json":
        print(json.dumps({"usage": rows}, ensure_ascii=False))
    elif args.format == "csv":
        writer = csv.DictWriter(sys.stdout, _FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    elif counts:
        _print_table([*counts, *_sums(counts)], texts)
    else:
        print(texts.say("no_usage", since=iso(since), until=iso(until)), file=sys.stderr)


def _settings(args: argparse.Namespace) -> UsageSettings:
    if args.store is not None:
        return UsageSettings(store=args.store, shown="")
    document = read_document(args.config)
    settings, faults = usage_settings(document, args.config.absolute().parent, os.environ)
    if faults:
        raise ConfigFaults(faults)
    if settings is None:
        raise InputError(f"{args.config}: no usage is kept: it has no usable [usage]")
    return settings


def _day(flag: str, text: str | None, otherwise: date) -> int:
    try:
        return (otherwise if text is None else date.fromisoformat(text)).toordinal()
    except ValueError:
        raise FieldError(flag, text, _DAY) from None


def _row(count: UsageCount) -> dict[str, object]:
    cost = count.cost / MICRO
    values = (iso(count.day), count.tenant, count.requests, count.input, count.output, cost)
    return dict(zip(_FIELDS, values, strict=True))


def _sums(counts: list[UsageCount]) -> list[UsageCount]:
    """One for each tenant, with the day 0."""
    sums: dict[str, UsageCount] = {}
    for count in counts:
        before = sums.get(count.tenant, UsageCount(0, count.tenant))
        sums[count.tenant] = UsageCount(
            0, count.tenant, before.requests + count.requests, before.input + count.input,
            before.output + count.output, before.cost + count.cost,
        )  # fmt: skip
    return [sums[tenant] for tenant in sorted(sums)]


def _print_table(counts: list[UsageCount], texts: Texts) -> None:
    lines = [[texts.say(f"usage_{field}") for field in _FIELDS]]
    lines += [
        [
            iso(c.day) if c.day else texts.say("usage_sum"),
            c.tenant,
            *(f"{number:,}" for number in (c.requests, c.input, c.output)),
            f"{c.cost / MICRO:,.2f}",
        ]
        for c in counts
    ]
    widths = [max(columns(line[place]) for line in lines) for place in range(len(_FIELDS))]
    for line in lines:
        cells = [
            padded(cell, width) if place < 2 else " " * (width - columns(cell)) + cell
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
