"""Two endpoints' answers compared: how many are right, how many the same, how sure each was."""

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import takewhile
from statistics import NormalDist, median

import msgspec

from proa.bench.quality.answers import QualityAnswer
from proa.bench.quality.run import AGAIN, SIDES, QualityResult
from proa.bench.statistics.hodges_lehmann import ShiftStats, shift
from proa.bench.statistics.mcnemar import McNemarStats, mcnemar

_FAILING = 0.05
_CONFIDENCE = 0.95
_Pairs = Sequence[tuple[QualityAnswer, QualityAnswer]]


class Verdict(StrEnum):
    """Of the margin that was asked; `MEASURED`: none was, `FAILING`: over 5 % failed."""

    FAILING = "failing"
    WORSE = "worse"
    UNDECIDED = "undecided"
    KEPT = "kept"
    MEASURED = "measured"


class MatchStats(msgspec.Struct, frozen=True, kw_only=True):
    """How many of `pairs` answers are the same text; Wilson's interval."""

    pairs: int
    same: int
    share: float | None
    low: float | None
    high: float | None


class LogprobStats(msgspec.Struct, frozen=True, kw_only=True):
    """Over the tokens that both answers begin with: the mean log probability of b less a's,
    a value for each case. `first_difference` is the median number of such tokens among the
    answers that part.
    """

    shift: ShiftStats
    absolute: float | None
    first_difference: float | None


class GroupStats(msgspec.Struct, frozen=True, kw_only=True):
    """Cases of one group with a check that both answered."""

    group: str
    cases: int
    right_a: int
    right_b: int
    mcnemar: McNemarStats


class QualityStats(msgspec.Struct, frozen=True, kw_only=True):
    """`total` is over all groups; `failures` and `cut` (at max_tokens) are by side."""

    verdict: Verdict
    total: GroupStats
    groups: list[GroupStats]
    match: MatchStats
    own_match: MatchStats | None
    logprobs: LogprobStats | None
    failures: dict[str, int]
    cut: dict[str, int]


def quality_stats(result: QualityResult) -> QualityStats:
    """Judge what was answered; a case that one side failed is in no comparison."""
    pairs = answered_pairs(result, *SIDES)
    groups: dict[str, list[tuple[QualityAnswer, QualityAnswer]]] = {}
    names = {case.id: case.group for case in result.start.cases}
    for pair in pairs:
        groups.setdefault(names[pair[0].case], []).append(pair)
    total = group_stats("", pairs)
    failures = {
        side: sum(answer.failure is not None for answer in own.values())
        for side, own in result.answers.items()
    }
    return QualityStats(
        verdict=_verdict(result, total, failures),
        total=total,
        groups=[group_stats(name, groups[name]) for name in groups],
        match=match_stats(pairs),
        own_match=match_stats(answered_pairs(result, "a", AGAIN))
        if AGAIN in result.answers
        else None,
        logprobs=logprob_stats(pairs),
        failures=failures,
        cut={
            side: sum(answer.finish_reason == "length" for answer in own.values())
            for side, own in result.answers.items()
        },
    )


def answered_pairs(
    result: QualityResult, first: str, second: str
) -> list[tuple[QualityAnswer, QualityAnswer]]:
    """Both sides' answers to each case that both answered."""
    ones, others = result.answers.get(first, {}), result.answers.get(second, {})
    both = [
        (ones[c.id], others[c.id]) for c in result.start.cases if c.id in ones and c.id in others
    ]
    return [(a, b) for a, b in both if a.failure is None and b.failure is None]


def group_stats(name: str, pairs: _Pairs) -> GroupStats:
    """Of the pairs with a check."""
    right = [(a.right, b.right) for a, b in pairs if a.right is not None and b.right is not None]
    return GroupStats(
        group=name,
        cases=len(right),
        right_a=sum(a for a, _ in right),
        right_b=sum(b for _, b in right),
        mcnemar=mcnemar(right, confidence=_CONFIDENCE),
    )


def match_stats(pairs: _Pairs) -> MatchStats:
    """Texts are compared without spaces at their ends."""
    same, count = sum(a.text == b.text for a, b in pairs), len(pairs)
    if not count:
        return MatchStats(pairs=0, same=0, share=None, low=None, high=None)
    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    share, spread = same / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / count / 4) / (1 + spread)
    return MatchStats(
        pairs=count, same=same, share=share, low=max(0.0, middle - half),
        high=min(1.0, middle + half),
    )  # fmt: skip


def logprob_stats(pairs: _Pairs) -> LogprobStats | None:
    """None where no pair tells log probabilities on both sides."""
    shifts, partings = [], []
    for a, b in pairs:
        both = zip(a.tokens, b.tokens, strict=False)
        common = sum(1 for _ in takewhile(lambda two: two[0] == two[1], both))
        if not common:
            continue
        gained = [b.logprobs[n] - a.logprobs[n] for n in range(common)]
        shifts.append(math.fsum(gained) / common)
        if a.tokens != b.tokens:
            partings.append(common)
    if not shifts:
        return None
    return LogprobStats(
        shift=shift(shifts),
        absolute=median(map(abs, shifts)),
        first_difference=median(partings) if partings else None,
    )


def _verdict(result: QualityResult, total: GroupStats, failures: dict[str, int]) -> Verdict:
    asked = {side: len(own) for side, own in result.answers.items()}
    if any(failures[side] > _FAILING * asked[side] for side in failures):
        return Verdict.FAILING
    margin = result.start.spec.margin
    if margin is None:
        return Verdict.MEASURED
    low, high = total.mcnemar.low, total.mcnemar.high
    if low is not None and low >= -margin:
        return Verdict.KEPT
    return Verdict.WORSE if high is not None and high < -margin else Verdict.UNDECIDED
