"""Gauges on the run's time axis, and what they were over a level's window."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

GPU = "gpu:"
"""What the source of a GPU's gauges begins with."""
_TOTAL = "_total"


class GaugeSample(msgspec.Struct, frozen=True):
    """One value at a time of the run; `source` is a target's name, or `gpu:INDEX`."""

    at_s: float
    source: str
    name: str
    value: float


class GaugeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One gauge over a window.

    `rise` is last - first and told of counters only (names that end with `_total`), where
    they did not begin anew.
    """

    mean: float
    least: float
    most: float
    n: int
    rise: float | None = None


Gauges = Mapping[str, Mapping[str, GaugeSummary]]
"""By source and name."""


def gauges_within(
    samples: Iterable[GaugeSample], *, start_s: float, end_s: float
) -> dict[str, dict[str, GaugeSummary]]:
    """All gauges that were read in [start_s, end_s)."""
    values: dict[str, dict[str, list[float]]] = {}
    for sample in samples:
        if start_s <= sample.at_s < end_s:
            own = values.setdefault(sample.source, {})
            own.setdefault(sample.name, []).append(sample.value)
    return {
        source: {name: _summed(name, told) for name, told in names.items()}
        for source, names in values.items()
    }


def gpu_memory_share(gauges: Gauges) -> float | None:
    """Memory in use over memory there, summed over GPUs; the most that was seen."""
    pairs = [
        (told["memory_bytes"].most, told["memory_total_bytes"].most)
        for source, told in gauges.items()
        if source.startswith(GPU) and {"memory_bytes", "memory_total_bytes"} <= told.keys()
    ]
    total = sum(size for _, size in pairs)
    return sum(used for used, _ in pairs) / total if total else None


def gpu_compute_share(gauges: Gauges) -> float | None:
    """Mean share of busy multiprocessors, over GPUs; else of the time with any kernel."""
    for name in ("sm_share", "kernel_share"):
        means = [
            told[name].mean
            for source, told in gauges.items()
            if source.startswith(GPU) and name in told
        ]
        if means:
            return sum(means) / len(means)
    return None


def _summed(name: str, values: Sequence[float]) -> GaugeSummary:
    falls = any(later < earlier for earlier, later in pairwise(values))
    is_counter = name.endswith(_TOTAL)
    return GaugeSummary(
        mean=sum(values) / len(values),
        least=min(values),
        most=max(values),
        n=len(values),
        rise=values[-1] - values[0] if is_counter and not falls else None,
    )
