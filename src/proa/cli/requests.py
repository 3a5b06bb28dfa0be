"""Show and export request records: who asked what of which engine, and what came of it.

Reads the store of [records] in proa.toml, also while the gateway runs. No text of a
prompt or an answer is there.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from proa.cli.texts import Texts, add_language, language_asked
from proa.config.document import read_document
from proa.config.faults import ConfigFaults
from proa.config.records import records_settings
from proa.errors import FieldError, InputError
from proa.store.records import RecordQuery, RecordStore, Status, open_records

_AGE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|d)", re.ASCII)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_CLASSES: tuple[Status, ...] = ("4xx", "5xx", "errors")
_ALL = 2**62
_NAMES = ("tenant", "key", "model", "route", "engine", "outcome")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, default=Path("proa.toml"), metavar="FILE")
    parser.add_argument("--store", metavar="URL", help="in place of the file's [records]")
    parser.add_argument("--since", metavar="TIME", help="15m, 2h, 7d ago, or 2026-12-01T09:00")
    parser.add_argument("--until", metavar="TIME", help="before this time; the same forms")
    for name in _NAMES:
        parser.add_argument(f"--{name}", metavar="NAME")
    parser.add_argument("--id", dest="request_id", metavar="ID", help="an x-request-id")
    parser.add_argument("--status", metavar="STATUS", help="429, 4xx, 5xx or errors")
    parser.add_argument("--pii", action="store_true", help="only those with personal data found")
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="the newest N; 0: all (default 100)"
    )
    parser.add_argument("--admin", action="store_true", help="what was done over the admin API")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text")
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    from proa.cli import requests_view as view

    query = query_of(args, time.time())
    with closing(_store(args)) as store:
        if args.admin:
            actions = store.actions(query)
            view.print_actions(actions, args.format, Texts("requests", language_asked(args)))
            count = len(actions)
        else:
            kept = store.requests(query)
            view.print_requests(kept, args.format, Texts("requests", language_asked(args)))
            count = len(kept)
    if args.limit and count == args.limit:
        told = Texts("requests", language_asked(args)).say("limited", count=count)
        print(told, file=sys.stderr)
    return 0


def query_of(args: argparse.Namespace, now_s: float) -> RecordQuery:
    """What the flags ask for; `now_s` is Unix time.

    Raises:
        FieldError: a time, a status or a limit that can't be used.
    """
    if args.limit < 0:
        raise FieldError("--limit", args.limit, "a number of records, 0 for all")
    names = {name: getattr(args, name) for name in (*_NAMES, "request_id")}
    return RecordQuery(
        since_s=_time(args.since, "--since", now_s),
        until_s=_time(args.until, "--until", now_s),
        status=_status(args.status),
        pii=args.pii,
        limit=args.limit or _ALL,
        **names,
    )


def _time(text: str | None, flag: str, now_s: float) -> float | None:
    if text is None:
        return None
    age = _AGE.fullmatch(text)
    if age is not None:
        return now_s - float(age[1]) * _SECONDS[age[2]]
    try:
        return datetime.fromisoformat(text).timestamp()  # without a zone: that of this machine
    except (ValueError, OverflowError) as error:
        accepted = "a time ago such as 15m, 2h, 7d, or a time such as 2026-12-01T09:00"
        raise FieldError(flag, text, accepted) from error


def _status(text: str | None) -> Status | None:
    if text is None:
        return None
    known = [status for status in _CLASSES if status == text]
    if known:
        return known[0]
    if text.isascii() and text.isdigit() and len(text) == 3:
        return int(text)
    raise FieldError("--status", text, "a status such as 429, or 4xx, 5xx, errors")


def _store(args: argparse.Namespace) -> RecordStore:
    """The store of --store, else of the file.

    Raises:
        InputError: the file names none.
        RecordsFault: it cannot be opened.
    """
    if args.store is not None:
        return _opened(lambda: open_records(args.store, read_only=True), "--store")
    document = read_document(args.config)
    settings, faults = records_settings(document, args.config.absolute().parent, os.environ)
    if faults:
        raise ConfigFaults(faults)
    if settings is None:
        raise InputError(f"{args.config}: no request records are kept: it has no usable [records]")
    return open_records(settings.store, read_only=True)


def _opened(opening: Callable[[], RecordStore], field: str) -> RecordStore:
    try:
        return opening()
    except FieldError as error:
        raise FieldError(field, error.value, error.accepted) from None
