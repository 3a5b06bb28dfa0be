"""What a gateway adds, out of pairs: at the first token, per token, in all, and as a line.

A shift is gateway minus direct, so what costs is above 0. Failed pairs are in none of them.
"""

import math
from collections.abc import Sequence
from statistics import median

import msgspec

from proa.bench.compare.spec import PairSample
from proa.bench.sample import RequestSample
from proa.bench.statistics.hodges_lehmann import CONFIDENCE, ShiftStats, shift

METRICS = ("ttft_s", "tpot_s", "e2e_s")


class SideStats(msgspec.Struct, frozen=True, kw_only=True):
    """One side over pairs: medians, and the mean number of output tokens; None: not measured."""

    requests: int
    failures: int
    output_tokens: float | None
    ttft_s: float | None
    tpot_s: float | None
    e2e_s: float | None


class LengthShift(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of one output length; `pairs` are the whole ones."""

    tokens: int
    pairs: int
    direct: SideStats
    gateway: SideStats
    ttft_s: ShiftStats
    tpot_s: ShiftStats
    e2e_s: ShiftStats


class LineStats(msgspec.Struct, frozen=True, kw_only=True):
    """Added time = per request + per token x output tokens."""

    per_request_s: ShiftStats
    per_token_s: ShiftStats


def differences(pairs: Sequence[PairSample], metric: str) -> list[float]:
    """Gateway minus direct over whole pairs that have the metric on both sides.

    Probes are in the TTFT's alone.
    """
    found = []
    for pair in pairs:
        direct, gateway = (getattr(sample, metric) for sample in pair.sides)
        counts = pair.is_whole and (metric == "ttft_s" or not pair.is_probe)
        if counts and direct is not None and gateway is not None:
            found.append(gateway - direct)
    return found


def ttft_shift(pairs: Sequence[PairSample]) -> ShiftStats:
    """Of all lengths together: the first token knows nothing of the answer's length."""
    return shift(differences(pairs, "ttft_s"))


def length_shifts(pairs: Sequence[PairSample]) -> list[LengthShift]:
    """By output length, ascending."""
    return [
        _length(length, [pair for pair in pairs if pair.tokens == length])
        for length in sorted({pair.tokens for pair in pairs})
    ]


def _length(length: int, pairs: list[PairSample]) -> LengthShift:
    return LengthShift(
        tokens=length,
        pairs=sum(pair.is_whole for pair in pairs),
        direct=side_stats(pairs, 0),
        gateway=side_stats(pairs, 1),
        ttft_s=shift(differences(pairs, "ttft_s")),
        tpot_s=shift(differences(pairs, "tpot_s")),
        e2e_s=shift(differences(pairs, "e2e_s")),
    )


def side_stats(pairs: Sequence[PairSample], side: int) -> SideStats:
    """`side` 0 is direct, 1 the gateway. Failures are over all pairs, the rest over whole ones."""
    whole = [pair.sides[side] for pair in pairs if pair.is_whole]
    tokens = [float(s.output_tokens) for s in whole if s.output_tokens is not None]
    return SideStats(
        requests=len(pairs),
        failures=sum(pair.sides[side].failure is not None for pair in pairs),
        output_tokens=math.fsum(tokens) / len(tokens) if tokens else None,
        ttft_s=_median(whole, "ttft_s"),
        tpot_s=_median(whole, "tpot_s"),
        e2e_s=_median(whole, "e2e_s"),
    )


def _median(samples: Sequence[RequestSample], metric: str) -> float | None:
    known = [value for s in samples if (value := getattr(s, metric)) is not None]
    return median(known) if known else None


def line(pairs: Sequence[PairSample], *, confidence: float = CONFIDENCE) -> LineStats | None:
    """The regression of the added time on the output tokens; None with one length only.

    A least-squares line through each whole round's pairs, then the shift of the rounds'
    intercepts and slopes: rounds are independent, whatever the noise of long answers is.
    """
    rounds: dict[int, list[tuple[float, float]]] = {}
    for pair in pairs:
        direct_s, gateway_s = pair.direct.e2e_s, pair.gateway.e2e_s
        if pair.is_whole and direct_s is not None and gateway_s is not None:
            point = (_tokens(pair), gateway_s - direct_s)
            rounds.setdefault(pair.round, []).append(point)
    lengths = len({pair.tokens for pair in pairs})
    lines = [_fitted(points) for points in rounds.values() if len(points) == lengths > 1]
    fitted = [one for one in lines if one is not None]
    if not fitted:
        return None
    return LineStats(
        per_request_s=shift([intercept for intercept, _ in fitted], confidence=confidence),
        per_token_s=shift([slope for _, slope in fitted], confidence=confidence),
    )


def _tokens(pair: PairSample) -> float:
    told = [sample.output_tokens or pair.tokens for sample in pair.sides]
    return sum(told) / len(told)


def _fitted(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Intercept and slope; None where all have the same length."""
    mean_x = math.fsum(x for x, _ in points) / len(points)
    mean_y = math.fsum(y for _, y in points) / len(points)
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    if not spread:
        return None
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return mean_y - slope * mean_x, slope


def order_shift(pairs: Sequence[PairSample]) -> ShiftStats:
    """TTFT of the second request of a pair minus the first one's, whichever side it was.

    Away from 0, what was sent first helped the second (a warm cache) or hindered it.
    """
    direct_first, gateway_first = (
        differences([pair for pair in pairs if pair.direct_first is first], "ttft_s")
        for first in (True, False)
    )
    return shift([*direct_first, *(-added_s for added_s in gateway_first)])
