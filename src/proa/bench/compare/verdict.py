"""What a comparison may say: nothing at all, a fault, or that the shift keeps its margin."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from proa.bench.compare.buffering import Buffering, buffering
from proa.bench.compare.run import CompareResult
from proa.bench.compare.shifts import (
    LengthShift,
    LineStats,
    differences,
    length_shifts,
    line,
    order_shift,
)
from proa.bench.compare.spec import PairSample
from proa.bench.statistics.hodges_lehmann import ShiftStats, shift

_MEANS_APART = 0.02
_PAIR_APART = 0.05
_PAIRS_APART = 0.05
_FAILING = 0.05
_TEST_CONFIDENCE = 0.90  # an interval of 90 % inside the margin: two one-sided tests at 5 %


class Verdict(StrEnum):
    """In the order of precedence. `MEASURED`: no margin was asked."""

    REFUSED = "refused"
    FAILING = "failing"
    BUFFERS = "buffers"
    DIFFERENT = "different"
    UNDECIDED = "undecided"
    EQUIVALENT = "equivalent"
    MEASURED = "measured"


BAD = (Verdict.REFUSED, Verdict.FAILING, Verdict.BUFFERS, Verdict.DIFFERENT, Verdict.UNDECIDED)


class MarginTest(msgspec.Struct, frozen=True, kw_only=True):
    """`shift` has the 90 % interval that the test takes; equivalent, different or undecided."""

    metric: str
    margin_s: float
    shift: ShiftStats
    verdict: Verdict


class CompareStats(msgspec.Struct, frozen=True, kw_only=True):
    """All that the pairs say; `unequal_lengths` are output lengths that the sides did not share.

    `pairs` are the whole ones without the probes.
    """

    verdict: Verdict
    pairs: int
    ttft_s: ShiftStats
    tpot_s: ShiftStats
    lengths: list[LengthShift]
    line: LineStats | None
    margins: list[MarginTest]
    buffering: Buffering
    order_s: ShiftStats
    unequal_lengths: list[int]


def compare_stats(result: CompareResult) -> CompareStats:
    """Judge what was measured."""
    spec, pairs = result.start.spec, result.measured
    asked = (("ttft_s", spec.margin_s), ("tpot_s", spec.token_margin_s))
    margins = [margin_test(pairs, name, bound) for name, bound in asked if bound is not None]
    full = [pair for pair in pairs if not pair.is_probe]
    flow, unequal = buffering(full), unequal_lengths(full)
    return CompareStats(
        verdict=verdict_of(pairs, flow, unequal, margins),
        pairs=sum(pair.is_whole for pair in full),
        ttft_s=shift(differences(pairs, "ttft_s")),
        tpot_s=shift(differences(pairs, "tpot_s")),
        lengths=length_shifts(full),
        line=line(full),
        margins=margins,
        buffering=flow,
        order_s=order_shift(pairs),
        unequal_lengths=unequal,
    )


def margin_test(pairs: Sequence[PairSample], metric: str, margin_s: float) -> MarginTest:
    """Two one-sided tests at 5 % each: the shift is neither above `margin_s` nor below its minus.

    Undecided where the interval reaches over the margin, or there is none.
    """
    found = shift(differences(pairs, metric), confidence=_TEST_CONFIDENCE)
    verdict = Verdict.UNDECIDED
    if found.low is not None and found.high is not None:
        if -margin_s < found.low and found.high < margin_s:
            verdict = Verdict.EQUIVALENT
        elif found.low >= margin_s or found.high <= -margin_s:
            verdict = Verdict.DIFFERENT
    return MarginTest(metric=metric, margin_s=margin_s, shift=found, verdict=verdict)


def unequal_lengths(pairs: Sequence[PairSample]) -> list[int]:
    """Lengths asked where the sides' answers differ: their means by more than 2 %, or more
    than 5 % of the pairs by more than 5 % (and a token).
    """
    return [
        length
        for length in sorted({pair.tokens for pair in pairs})
        if _is_unequal([pair for pair in pairs if pair.tokens == length and pair.is_whole])
    ]


def _is_unequal(pairs: Sequence[PairSample]) -> bool:
    counts = [(p.direct.output_tokens, p.gateway.output_tokens) for p in pairs]
    known = [(a, b) for a, b in counts if a is not None and b is not None]
    if not known:
        return False
    first, second = (sum(side) / len(known) for side in zip(*known, strict=True))
    apart = sum(abs(a - b) > max(1.0, _PAIR_APART * max(a, b)) for a, b in known)
    means_apart = abs(first - second) > _MEANS_APART * max(first, second)
    return means_apart or apart > _PAIRS_APART * len(known)


def verdict_of(
    pairs: Sequence[PairSample],
    flow: Buffering,
    unequal: Sequence[int],
    margins: Sequence[MarginTest],
) -> Verdict:
    """The first of `Verdict`'s order that holds; over 5 % of the pairs not whole is failing."""
    found = {test.verdict for test in margins}
    if unequal:
        found.add(Verdict.REFUSED)
    if sum(not pair.is_whole for pair in pairs) > _FAILING * len(pairs):
        found.add(Verdict.FAILING)
    if flow.signs:
        found.add(Verdict.BUFFERS)
    return next((verdict for verdict in Verdict if verdict in found), Verdict.MEASURED)
