"""Whether the client was the limit: what it measured of itself during a level, and a verdict.

`stamp_delay_p99_s` is the most direct: the run sends each client process a stamped message a
hundred times a second through its event loop, as the sockets' reads come; how late it is read
is how late a first token is. "valid" promises a TTFT bias below 1 ms at P99.
"""

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from proa.bench.process_messages import Tick
from proa.bench.sample import RequestSample


class Validity(StrEnum):
    """`SUSPECT` may be used with its reasons beside it, `INVALID` must not."""

    VALID = "valid"
    SUSPECT = "suspect"
    INVALID = "invalid"


class Limit(NamedTuple):
    """Above which a reading makes a level suspect, and above which invalid."""

    suspect: float
    invalid: float


STAMP_DELAY_S = Limit(0.001, 0.010)
LOOP_LAG_S = Limit(0.005, 0.050)
CPU_SHARE = Limit(0.80, 0.95)
RUNQUEUE_SHARE = Limit(0.10, 0.50)
SEND_LATENESS_S = Limit(0.005, 0.050)
SHORTFALL = Limit(0.02, 0.10)


class ClientHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One level's client. Shares are of one CPU, of the busiest process; None is "not measured".

    `asked` and `achieved` are users in flight, or requests a second in an open loop.
    `reads_per_event` well below 1: events arrive in bundles, held back on their way.
    """

    verdict: Validity
    reasons: list[str] = []
    processes: int = 1
    stamp_delay_p99_s: float | None = None
    loop_lag_p99_s: float | None = None
    cpu_share: float | None = None
    runqueue_share: float | None = None
    send_lateness_p99_s: float | None = None
    asked: float | None = None
    achieved: float | None = None
    reads_per_event: float | None = None
    late_connects: int = 0


def client_health(
    ticks: Sequence[Tick], samples: Sequence[RequestSample], *, start_s: float, end_s: float
) -> ClientHealth:
    """From the ticks and the samples of a level; times on the clock of `samples`.

    `samples` are all of the level, warm-up and fillers too. Ticks are on the same clock.
    """
    if end_s <= start_s and ticks:  # it ended within the warm-up
        start_s, end_s = ticks[0].at_s, ticks[-1].at_s
    inside = [tick for tick in ticks if start_s <= tick.at_s <= end_s] or list(ticks)
    users = next((s.users for s in samples if s.users is not None), None)
    sent = [s for s in samples if start_s <= s.sent_s < end_s]
    asked, achieved = _load(inside, samples, users, (start_s, end_s))
    busy = _shares(inside, "cpu_s")
    waiting = _shares(inside, "runqueue_s")
    lateness = _p99([_lateness(s, capped=users is None) for s in sent])
    delay = _p99([d for tick in inside for d in tick.pulse_delays_s])
    lag = _p99([d for tick in inside for d in tick.loop_lags_s])
    found = [
        _judged("stamps are late by {:.1f} ms (P99)", delay, STAMP_DELAY_S, 1e3),
        _judged("the event loop lags by {:.1f} ms (P99)", lag, LOOP_LAG_S, 1e3),
        _judged("a client process uses {:.0f} % of a CPU", busy, CPU_SHARE, 100),
        _judged("a client process waits for a CPU {:.0f} % of the time", waiting,
                RUNQUEUE_SHARE, 100),
        _judged("requests leave {:.1f} ms late (P99)", lateness, SEND_LATENESS_S, 1e3),
        _judged("{:.1f} % of the load that was asked is missing", _missing(asked, achieved),
                SHORTFALL, 100),
    ]  # fmt: skip
    if delay is None:
        found.append((Validity.SUSPECT, "how late stamps are was not measured"))
    return ClientHealth(
        verdict=worst(validity for validity, _ in found),
        reasons=[reason for _, reason in found if reason],
        processes=len({tick.share for tick in ticks}) or 1,
        stamp_delay_p99_s=delay,
        loop_lag_p99_s=lag,
        cpu_share=busy,
        runqueue_share=waiting,
        send_lateness_p99_s=lateness,
        asked=asked,
        achieved=achieved,
        reads_per_event=reads_per_event(sent),
        late_connects=max((t.late_connects for t in inside), default=0),
    )


def worst(verdicts: Iterable[Validity]) -> Validity:
    """The most severe; valid where there is none."""
    order = list(Validity)
    return max(verdicts, key=order.index, default=Validity.VALID)


def reads_per_event(samples: Iterable[RequestSample]) -> float | None:
    """Reads of the socket that brought content, over content events; None without events."""
    reads = events = 0
    for sample in samples:
        reads += sample.reads
        events += len(sample.events)
    return reads / events if events else None


def _judged(text: str, value: float | None, limit: Limit, factor: float) -> tuple[Validity, str]:
    if value is None or value <= limit.suspect:
        return Validity.VALID, ""
    verdict = Validity.INVALID if value > limit.invalid else Validity.SUSPECT
    return verdict, text.format(value * factor)


def _missing(asked: float | None, achieved: float | None) -> float | None:
    return None if not asked or achieved is None else max(0.0, 1 - achieved / asked)


def _load(
    ticks: Sequence[Tick],
    samples: Sequence[RequestSample],
    users: int | None,
    window: tuple[float, float],
) -> tuple[float | None, float | None]:
    """Asked and achieved: users (pauses after failures taken off), or scheduled and sent per s."""
    start_s, end_s = window
    length_s = end_s - start_s
    if length_s <= 0:
        return None, None
    if users is None:
        due = sum(s.scheduled_s is not None and start_s <= s.scheduled_s < end_s for s in samples)
        sent = sum(start_s <= (s.wired_s or s.sent_s) < end_s for s in samples)
        return due / length_s, min(due, sent) / length_s
    asked = max(0.0, users - _mean_over_shares(ticks, "pausing"))
    return asked, min(_mean_over_shares(ticks, "on_wire"), float(users))


def _mean_over_shares(ticks: Sequence[Tick], field: str) -> float:
    """Sum over the processes of the mean of a gauge."""
    by_share: dict[int, list[int]] = {}
    for tick in ticks:
        by_share.setdefault(tick.share, []).append(getattr(tick, field))
    return sum(sum(counts) / len(counts) for counts in by_share.values())


def _lateness(sample: RequestSample, *, capped: bool) -> float | None:
    """From its turn to a connection; in an open loop from the schedule, unless a cap held it."""
    if sample.wired_s is None:
        return None
    turn_s = sample.sent_s
    if capped and sample.scheduled_s is not None:
        turn_s = sample.scheduled_s
    return max(0.0, sample.wired_s - turn_s)


def _shares(ticks: Sequence[Tick], field: str) -> float | None:
    """The greatest rise per second of a counter, over the processes."""
    rises = []
    for share in {tick.share for tick in ticks}:
        own = [tick for tick in ticks if tick.share == share]
        took_s = own[-1].at_s - own[0].at_s
        if took_s > 0:
            rises.append((getattr(own[-1], field) - getattr(own[0], field)) / took_s)
    return max(rises, default=None)


def _p99(values: Iterable[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[max(0, math.ceil(0.99 * len(known)) - 1)] if known else None
