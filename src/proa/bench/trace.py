"""A recorded load: when each request came, and how long its prompt and its answer were.

Read are JSON lines with a time in seconds (`time`, or `timestamp` in seconds or ISO 8601;
milliseconds where the line has `hash_ids`, as Mooncake's traces), `input_tokens` or
`input_length` or `prompt_tokens`, `output_tokens` or `output_length` or `completion_tokens`,
optionally `messages`; and the request lines of the gateway's JSON log, whose `ts` is the end
of a request and `duration_ms` before it its beginning.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from proa.errors import FieldError

_INPUT = ("input_tokens", "input_length", "prompt_tokens", "ContextTokens")
_OUTPUT = ("output_tokens", "output_length", "completion_tokens", "GeneratedTokens")
_TIMES = ("time", "timestamp", "TIMESTAMP", "ts")
_decode = msgspec.json.Decoder(dict[str, Any])


class TraceRow(msgspec.Struct, frozen=True):
    """One request, `at_s` after the trace's first."""

    at_s: float
    input_tokens: int
    output_tokens: int
    messages: list[dict[str, Any]] | None = None


def read_trace(lines: Iterable[bytes], *, name: str, speed: float = 1.0) -> list[TraceRow]:
    """The rows by time; `speed` 2 replays twice as fast. Lines of other events are left out.

    Raises:
        FieldError: a line that is no JSON object, lacks its time or its lengths; no rows.
    """
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            fields = _decode.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            raise FieldError(where, line[:80].decode("utf-8", "replace"), "a JSON object") from None
        if "level" in fields and "message" in fields:
            continue  # an event of the gateway's log
        row = _row(where, fields)
        if row is not None:
            rows.append(row)
    if not rows:
        raise FieldError(name, "", "at least one line with a time, input_tokens, output_tokens")
    rows.sort(key=lambda row: row.at_s)
    first_s = rows[0].at_s
    return [msgspec.structs.replace(row, at_s=(row.at_s - first_s) / speed) for row in rows]


def _row(where: str, fields: Mapping[str, Any]) -> TraceRow | None:
    from_gateway = "duration_ms" in fields and "request_id" in fields
    input_tokens, output_tokens = _count(fields, _INPUT), _count(fields, _OUTPUT)
    if from_gateway and not (input_tokens and output_tokens):
        return None  # a refusal, or a request that is no generation
    if input_tokens is None or output_tokens is None:
        raise FieldError(where, sorted(fields), "input_tokens and output_tokens, whole numbers")
    at_s = _time(where, fields)
    if from_gateway:
        at_s -= float(fields["duration_ms"]) / 1000
    messages = fields.get("messages")
    return TraceRow(at_s, max(1, input_tokens), max(1, output_tokens), messages)


def _count(fields: Mapping[str, Any], names: Iterable[str]) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _time(where: str, fields: Mapping[str, Any]) -> float:
    value = next((fields[name] for name in _TIMES if name in fields), None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000 if "hash_ids" in fields else float(value)
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        accepted = "time or timestamp, in seconds or ISO 8601"
        raise FieldError(where, value, accepted) from None
