"""How late the stamps of a level may be, by the clock that they are of.

The kernel's stamp is that of a read's last byte: an event that shares its read with a later one
has the later one's time. It was waiting no longer than the loop was away, so that is its bound;
all other events are stamped when they came. The loop's stamps are as late as the loop.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from proa.bench.arrival_clock import Clock
from proa.bench.process_messages import Tick
from proa.bench.sample import RequestSample

_ALL = 0.99  # share of reads, at least, of which the kernel told the time
_SHARED = 0.01  # more events than these are seen at P99


class StampTrust(NamedTuple):
    """`delay_p99_s` bounds the lateness of stamps; None is "not measured".

    `loop_lag_p99_s` is from arrival to reading with the kernel's clock, else of a chain of timers.
    `shared` is the share of content events, or of first ones if that is more, that share their
    read with a later event.
    """

    clock: Clock
    delay_p99_s: float | None
    loop_lag_p99_s: float | None
    shared: float | None


def stamp_trust(ticks: Sequence[Tick], samples: Sequence[RequestSample]) -> StampTrust:
    """Of the ticks and the requests of one window."""
    clock, shared = clock_of(ticks), shared_reads(samples)
    pulse = p99(delay for tick in ticks for delay in tick.pulse_delays_s)
    if clock is Clock.LOOP:
        lag = p99(lag for tick in ticks for lag in tick.loop_lags_s)
        return StampTrust(clock, pulse, lag, shared)
    read = p99(delay for tick in ticks for delay in tick.read_delays_s)
    delay = 0.0 if (shared or 0.0) <= _SHARED else max((pulse or 0.0), (read or 0.0))
    return StampTrust(clock, delay, read, shared)


def clock_of(ticks: Sequence[Tick]) -> Clock:
    """The kernel's if it told the time of practically all reads of every process."""
    last = {tick.share: tick for tick in ticks}.values()
    reads = sum(tick.reads for tick in last)
    told = reads and all(tick.kernel_reads >= _ALL * tick.reads for tick in last)
    return Clock.KERNEL if told else Clock.LOOP


def shared_reads(samples: Iterable[RequestSample]) -> float | None:
    """Events, or first events, that came in one read with a later one; None without events."""
    events = shared = answers = first = 0
    for sample in samples:
        if sample.events:
            answers += 1
            events += len(sample.events)
            same = [a.read == b.read for a, b in pairwise(sample.events)]
            shared += sum(same)
            first += bool(same) and same[0]
    return max(shared / events, first / answers) if events else None


def p99(values: Iterable[float | None]) -> float | None:
    """The order statistic of what is known, however few they are."""
    known = sorted(value for value in values if value is not None)
    return known[max(0, math.ceil(0.99 * len(known)) - 1)] if known else None
