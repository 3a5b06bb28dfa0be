"""Whether the client was the limit: what it measured of itself during a level, and a verdict.

"valid" promises a TTFT bias below 1 ms at P99. Where the kernel told when bytes arrived, a late
loop spoils no stamp but those of events that share a read with a later one; what it still
delays, requests and the load, is measured by itself. Where the loop stamps, its lateness is the
stamps': the run sends each client process a stamped message a hundred times a second.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from proa.bench.arrival_clock import Clock
from proa.bench.process_messages import Tick
from proa.bench.remark import Remark
from proa.bench.sample import RequestSample
from proa.bench.stamp_trust import StampTrust, p99, stamp_trust


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
CPU_SHARE = Limit(0.80, 0.95)
LOOP_LAG_S = {Clock.LOOP: Limit(0.005, 0.050), Clock.KERNEL: Limit(0.050, 0.500)}
"""Late stamps; with the kernel's, only what is left: sockets fill, and the server waits."""
RUNQUEUE_SHARE = {Clock.LOOP: Limit(0.10, 0.50), Clock.KERNEL: Limit(0.50, 0.90)}
"""Late stamps; with the kernel's, only the stamp of a sending that is put off right after it."""
SEND_LATENESS_S = Limit(0.005, 0.050)
SHORTFALL = Limit(0.02, 0.10)
Judged = tuple[Validity, Remark | None]


class ClientHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One level's client. Shares are of one CPU, of the busiest process; None is "not measured".

    `clock` is whose stamps they are; `stamp_delay_p99_s` bounds how late. `send_lateness_p99_s`
    is from the schedule to a connection, or in a closed loop, where a user's lateness after the
    answer before is off the load achieved, from the sending.
    `asked` and `achieved` are users in flight, or requests a second in an open loop.
    `reads_per_event` well below 1: events arrive in bundles, held back on their way.
    """

    verdict: Validity
    reasons: list[Remark] = []
    processes: int = 1
    clock: Clock = Clock.LOOP
    stamp_delay_p99_s: float | None = None
    loop_lag_p99_s: float | None = None
    cpu_share: float | None = None
    runqueue_share: float | None = None
    send_lateness_p99_s: float | None = None
    asked: float | None = None
    achieved: float | None = None
    reads_per_event: float | None = None
    shared_reads: float | None = None
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
    late, idle_s = _lateness(samples, (start_s, end_s), users=users)
    asked, achieved = _load(inside, samples, users, (start_s, end_s), idle_s)
    stamps = stamp_trust(inside, sent)
    busy, waiting = _shares(inside, "cpu_s"), _shares(inside, "runqueue_s")
    lateness = p99(late)
    found = [
        *_stamps_judged(stamps),
        _judged("cpu", "cpu_share", busy, CPU_SHARE),
        _judged("runqueue", "runqueue_share", waiting, RUNQUEUE_SHARE[stamps.clock]),
        _judged("send_late", "send_lateness_p99_s", lateness, SEND_LATENESS_S),
        _judged("load_missing", "missing_share", _missing(asked, achieved), SHORTFALL),
    ]
    return ClientHealth(
        verdict=worst(validity for validity, _ in found),
        reasons=[reason for _, reason in found if reason is not None],
        processes=len({tick.share for tick in ticks}) or 1,
        clock=stamps.clock,
        stamp_delay_p99_s=stamps.delay_p99_s,
        loop_lag_p99_s=stamps.loop_lag_p99_s,
        cpu_share=busy,
        runqueue_share=waiting,
        send_lateness_p99_s=lateness,
        asked=asked,
        achieved=achieved,
        reads_per_event=reads_per_event(sent),
        shared_reads=stamps.shared,
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


def _stamps_judged(stamps: StampTrust) -> Iterator[Judged]:
    code, beside = "stamps_late", {}
    if stamps.clock is Clock.KERNEL:
        code, beside = "reads_shared", {"shared_share": stamps.shared or 0.0}
    yield _judged(code, "stamp_delay_p99_s", stamps.delay_p99_s, STAMP_DELAY_S, **beside)
    lag, limit = stamps.loop_lag_p99_s, LOOP_LAG_S[stamps.clock]
    yield _judged("loop_lag", "loop_lag_p99_s", lag, limit)
    if stamps.delay_p99_s is None:
        yield Validity.SUSPECT, Remark("stamps_unmeasured")


def _judged(code: str, name: str, value: float | None, limit: Limit, **beside: float) -> Judged:
    if value is None or value <= limit.suspect:
        return Validity.VALID, None
    verdict = Validity.INVALID if value > limit.invalid else Validity.SUSPECT
    return verdict, Remark(code, {name: value, **beside})


def _missing(asked: float | None, achieved: float | None) -> float | None:
    return None if not asked or achieved is None else max(0.0, 1 - achieved / asked)


def _load(
    ticks: Sequence[Tick],
    samples: Sequence[RequestSample],
    users: int | None,
    window: tuple[float, float],
    idle_s: float,
) -> tuple[float | None, float | None]:
    """Asked and achieved: users (pauses after failures taken off), or scheduled and sent per s.

    A user whose answer has ended is on the wire until that is read: `idle_s` is taken off.
    """
    start_s, end_s = window
    length_s = end_s - start_s
    if length_s <= 0:
        return None, None
    if users is None:
        due = sum(s.scheduled_s is not None and start_s <= s.scheduled_s < end_s for s in samples)
        sent = sum(start_s <= (s.wired_s or s.sent_s) < end_s for s in samples)
        return due / length_s, min(due, sent) / length_s
    asked = max(0.0, users - _mean_over_shares(ticks, "pausing"))
    on_wire = min(_mean_over_shares(ticks, "on_wire"), float(users))
    return asked, max(0.0, on_wire - idle_s / length_s)


def _mean_over_shares(ticks: Sequence[Tick], field: str) -> float:
    """Sum over the processes of the mean of a gauge."""
    by_share: dict[int, list[int]] = {}
    for tick in ticks:
        by_share.setdefault(tick.share, []).append(getattr(tick, field))
    return sum(sum(counts) / len(counts) for counts in by_share.values())


def _lateness(
    samples: Sequence[RequestSample], window: tuple[float, float], *, users: int | None
) -> tuple[list[float], float]:
    """From the turn of each request sent within the window to its connection: the schedule, or in
    a closed loop its sending; and the sum of what users were idle there for nothing, from the end
    of an answer to the next request, unless it failed. That moves no request's times, but the load.
    """
    found, idle_s = [], 0.0
    ended_s: dict[int, float | None] = {}
    for sample in sorted(samples, key=lambda each: each.sent_s):
        ended, turn_s = ended_s.get(sample.user), sample.scheduled_s
        ended_s[sample.user] = None if sample.failure else sample.end_s
        if sample.wired_s is None or not window[0] <= sample.sent_s < window[1]:
            continue
        if users is not None or turn_s is None:
            turn_s = sample.sent_s
        found.append(max(0.0, sample.wired_s - turn_s))
        if users is not None and ended is not None:
            idle_s += max(0.0, sample.sent_s - ended)
    return found, idle_s


def _shares(ticks: Sequence[Tick], field: str) -> float | None:
    """The greatest rise per second of a counter, over the processes."""
    rises = []
    for share in {tick.share for tick in ticks}:
        own = [tick for tick in ticks if tick.share == share]
        took_s = own[-1].at_s - own[0].at_s
        if took_s > 0:
            rises.append((getattr(own[-1], field) - getattr(own[0], field)) / took_s)
    return max(rises, default=None)
