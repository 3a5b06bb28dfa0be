"""When requests of an open loop are due: an absolute schedule, made before it is kept.

A late request does not shift those after it. `constant` is constant, `poisson` has
exponential gaps, `gamma` gaps of the same mean with a chosen burstiness.
"""

import random
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import count

import msgspec

from proa.errors import FieldError


class Arrival(StrEnum):
    """The law of the gaps between requests."""

    CONSTANT = "constant"
    POISSON = "poisson"
    GAMMA = "gamma"


class ArrivalSpec(msgspec.Struct, frozen=True):
    """An open loop.

    `burstiness` is the squared coefficient of variation of gamma's gaps: 1 is Poisson,
    above 1 more bursty, below 1 more even.
    """

    rate: float
    law: Arrival = Arrival.POISSON
    burstiness: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1e6:
            raise FieldError("rate", self.rate, "requests per second, above 0")
        if not 0 < self.burstiness < 1e3:
            raise FieldError("burstiness", self.burstiness, "above 0; 1 is Poisson")


def send_times(spec: ArrivalSpec) -> Iterator[float]:
    """Seconds from the start, without end; the same for the same seed."""
    if spec.law is Arrival.CONSTANT:
        yield from (number / spec.rate for number in count())
        return
    dice = random.Random(spec.seed)
    burstiness = 1.0 if spec.law is Arrival.POISSON else spec.burstiness
    at_s = 0.0
    while True:
        at_s += dice.gammavariate(1 / burstiness, burstiness / spec.rate)
        yield at_s


def dispersion(times: Iterable[float], *, window_s: float) -> float | None:
    """Index of dispersion of counts in windows: variance / mean.

    1 for Poisson, 0 for constant; far above 1 are bursts. None below 10 whole windows.
    """
    ordered = sorted(times)
    if not ordered or window_s <= 0:
        return None
    windows = int((ordered[-1] - ordered[0]) / window_s)
    if windows < 10:
        return None
    counts = [0] * windows
    for at_s in ordered:
        index = int((at_s - ordered[0]) / window_s)
        if index < windows:
            counts[index] += 1
    mean = sum(counts) / windows
    return sum((c - mean) ** 2 for c in counts) / (windows - 1) / mean
