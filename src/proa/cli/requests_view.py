"""Request records and admin actions as a table, as JSON, or as CSV for a spreadsheet."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from proa.cli.texts import Texts, columns, padded
from proa.domain.request_record import AdminAction, KeptRequest, RequestRecord

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute
_FIELDS = ("time", *RequestRecord.__struct_fields__)
_ACTION_FIELDS = ("time", "who", "method", "path", "status", "detail")


def print_requests(kept: Sequence[KeptRequest], form: str, texts: Texts) -> None:
    """The records, newest first."""
    if form == "json":
        print(json.dumps({"requests": [as_values(one) for one in kept]}, ensure_ascii=False))
    elif form == "csv":
        _print_csv(_FIELDS, (as_values(one) for one in kept))
    elif kept:
        heads = ("time", "status", "tenant", "model", "engine", "tokens", "ttft", "duration", "pii")
        rows = [[texts.say(head) for head in heads], *map(_line, kept)]
        _print_table(rows)
    else:
        print(texts.say("none"), file=sys.stderr)


def print_actions(actions: Sequence[AdminAction], form: str, texts: Texts) -> None:
    """What was done over the admin API, newest first."""
    values = [_action_values(action) for action in actions]
    if form == "json":
        print(json.dumps({"actions": values}, ensure_ascii=False))
    elif form == "csv":
        _print_csv(_ACTION_FIELDS, values)
    elif values:
        heads = [texts.say(name) for name in _ACTION_FIELDS]
        _print_table([heads, *([str(one[name]) for name in _ACTION_FIELDS] for one in values)])
    else:
        print(texts.say("no_actions"), file=sys.stderr)


def as_values(kept: KeptRequest) -> dict[str, object]:
    """One record by the names of `--format json`; `time` is UTC."""
    values = msgspec.structs.asdict(kept.record)
    return {"time": _utc(kept.ended_s)} | values


def _action_values(action: AdminAction) -> dict[str, object]:
    values = msgspec.structs.asdict(action)
    return {"time": _utc(values.pop("at_s"))} | values


def _line(kept: KeptRequest) -> list[str]:
    record = kept.record
    local = datetime.fromtimestamp(kept.ended_s).astimezone()
    tokens = f"{_known(record.prompt_tokens)}+{_known(record.completion_tokens)}"
    found = record.pii or {}
    return [
        local.strftime("%Y-%m-%d %H:%M:%S"),
        str(record.status),
        record.tenant or "-",
        record.model or "-",
        record.engine or "-",
        tokens,
        _milliseconds(record.ttft_ms),
        _milliseconds(record.duration_ms),
        ", ".join(f"{name} {count}" for name, count in found.items()) or "-",
    ]


def _known(count: int | None) -> str:
    return "-" if count is None else str(count)


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _print_table(rows: list[list[str]]) -> None:
    rows = [[_printable(cell) for cell in row] for row in rows]
    widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(padded(c, w) for c, w in zip(row, widths, strict=True)).rstrip())


def _print_csv(fields: Sequence[str], records: Iterable[dict[str, object]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(fields)
    for record in records:
        writer.writerow([_cell(record[name]) for name in fields])
    print(out.getvalue(), end="")


def _cell(value: object) -> object:
    """A name that a client chose must not become a formula where the file is opened."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
