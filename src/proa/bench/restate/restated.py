"""What another tool's file gives: requests as we measure them, what it printed, what is lost."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from proa.bench.health import ClientHealth, Validity
from proa.bench.levels import LevelStats, level_stats
from proa.bench.remark import Remark
from proa.bench.sample import RequestSample
from proa.bench.window import Cause, LevelWindow
from proa.errors import InputError

Told = dict[str, dict[str, float | None]]
"""The tool's own numbers by our metric's name, in our units: mean, p50, p95, p99."""


class Restated(msgspec.Struct, frozen=True, kw_only=True):
    """One level of one file.

    `notes` say where the tool's definition is another, `lost` what cannot be recovered; both
    are keys of texts. `told` is as the tool printed it, whatever it called it.
    """

    tool: str
    version: str = ""
    model: str = ""
    users: int | None = None
    rate: float | None = None
    samples: list[RequestSample] = []
    told: Told = {}
    notes: list[str] = []
    lost: list[str] = []
    duration_s: float | None = None


def stats_of(restated: Restated) -> LevelStats | None:
    """Our numbers out of its requests, all of them; None where the file holds no requests.

    Throughput counts tokens by the time of their events where the file has times, over the
    tool's own duration.
    """
    samples = restated.samples
    if not samples:
        return None
    end_s = max(_last(sample) for sample in samples)
    if restated.duration_s is not None:
        end_s = max(end_s, restated.duration_s)
    window = LevelWindow(0.0, end_s + 1e-9, end_s + 1e-9, Cause.LOAD_OVER)
    unknown = ClientHealth(verdict=Validity.SUSPECT, reasons=[Remark("client_untold")])
    return level_stats(samples, window, unknown)


def _last(sample: RequestSample) -> float:
    known = (sample.end_s, sample.last_content_s, sample.sent_s)
    return max(at_s for at_s in known if at_s is not None)


def aligned(samples: Iterable[RequestSample]) -> list[RequestSample]:
    """The same requests in the order of their sending, the first sent at 0."""
    ordered = sorted(samples, key=lambda sample: sample.sent_s)
    return [_shifted(sample, ordered[0].sent_s) for sample in ordered]


_TIMES = ("sent_s", "first_content_s", "first_visible_s", "last_content_s", "end_s", "scheduled_s")


def _shifted(sample: RequestSample, zero_s: float) -> RequestSample:
    moved = {name: at_s - zero_s for name in _TIMES if (at_s := getattr(sample, name)) is not None}
    events = tuple(
        msgspec.structs.replace(event, at_s=event.at_s - zero_s) for event in sample.events
    )
    return msgspec.structs.replace(sample, **moved, events=events)


def milliseconds(told: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, float | None]:
    """Statistics in seconds: ours → the key that the tool has it under, in ms."""
    return {ours: seconds(told.get(theirs)) for ours, theirs in names.items()}


def seconds(value: Any) -> float | None:
    """Milliseconds as seconds, None as None."""
    return None if value is None else float(value) / 1e3


def wanted(found: Any, name: str, where: str) -> Any:
    """A key that the file must have. Raises InputError: it is missing."""
    if not isinstance(found, Mapping) or name not in found:
        raise InputError(f"{where}: {name} is missing; not a result file in a known form")
    return found[name]


def column(found: Mapping[str, Any], name: str, count: int, where: str) -> Sequence[Any]:
    """A list with one value for each request. Raises InputError: it has another length."""
    values = wanted(found, name, where)
    if not isinstance(values, list) or len(values) != count:
        raise InputError(f"{where}: {name}: accepted is a list of {count} values, one a request")
    return values
