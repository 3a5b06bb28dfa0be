"""Samples, ticks and events as rows of a run's file, and back without loss.

Content events are one blob: zlib of three columns in little endian, one after the other: the
times (float64), the characters (uint32), the numbers of the reads (uint32).
"""

import sys
import zlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from proa.bench.process_messages import Tick
from proa.bench.sample import ContentEvent, Failure, RequestSample, TokenSource
from proa.errors import InputError

_TIME, _COUNT = "d", "I"
_MARKS = ("is_warmup", "is_filler")
"""Told by the window, so not kept with the request."""

SAMPLE_COLUMNS = tuple(
    name for name in RequestSample.__struct_fields__ if name not in (*_MARKS, "events")
)
COLUMNS = ("seq", *SAMPLE_COLUMNS, "ended_s", "events")
_BOOLEANS = ("is_stopped", "hidden_reasoning")
_tick = msgspec.msgpack.Decoder(Tick)


def sample_row(seq: int, sample: RequestSample, ended_s: float) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    values = (getattr(sample, name) for name in SAMPLE_COLUMNS)
    return (seq, *values, ended_s, packed_events(sample.events))


def row_sample(row: Sequence[Any]) -> RequestSample:
    """The sample of a row of `COLUMNS`, without its marks.

    Raises:
        InputError: the row is damaged.
    """
    fields = dict(zip(SAMPLE_COLUMNS, row[1:-2], strict=True))
    try:
        for name in _BOOLEANS:
            fields[name] = bool(fields[name])
        if fields["failure"] is not None:
            fields["failure"] = Failure(fields["failure"])
        if fields["token_source"] is not None:
            fields["token_source"] = TokenSource(fields["token_source"])
        return RequestSample(**fields, events=unpacked_events(row[-1]))
    except (ValueError, TypeError, zlib.error, EOFError) as error:
        raise InputError(f"requests: row {row[0]} is damaged ({error})") from None


def packed_events(events: Sequence[ContentEvent]) -> bytes:
    """The blob of a request's events; empty where there are none."""
    if not events:
        return b""
    columns = (
        _little(array(_TIME, [event.at_s for event in events])),
        _little(array(_COUNT, [event.characters for event in events])),
        _little(array(_COUNT, [event.read for event in events])),
    )
    return zlib.compress(b"".join(columns), 1)


def unpacked_events(blob: bytes) -> tuple[ContentEvent, ...]:
    """Raises ValueError or zlib.error: no such blob."""
    if not blob:
        return ()
    data = zlib.decompress(blob)
    count, rest = divmod(len(data), 16)
    if rest:
        raise ValueError("events are cut")
    times, characters, reads = array(_TIME), array(_COUNT), array(_COUNT)
    times.frombytes(data[: 8 * count])
    characters.frombytes(data[8 * count : 12 * count])
    reads.frombytes(data[12 * count :])
    columns = (_native(times), _native(characters), _native(reads))
    return tuple(ContentEvent(*event) for event in zip(*columns, strict=True))


def tick_row(seq: int, level: int, tick: Tick) -> tuple[Any, ...]:
    """The values of the table `ticks`."""
    return seq, level, tick.share, tick.at_s, msgspec.msgpack.encode(tick)


def row_tick(blob: bytes) -> Tick:
    """Raises InputError: the tick is damaged."""
    try:
        return _tick.decode(blob)
    except msgspec.MsgspecError as error:
        raise InputError(f"ticks: a row is damaged ({error})") from None


def placeholders(columns: Iterable[object]) -> str:
    """`?, ?, …`, one for each column."""
    return ", ".join("?" for _ in columns)


def _little(column: "array[Any]") -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


def _native(column: "array[Any]") -> "array[Any]":
    if sys.byteorder == "big":
        column.byteswap()
    return column
