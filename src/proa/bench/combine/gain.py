"""What two servers gain together: ratios of throughput within the rounds."""

import math
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from proa.bench.combine.spec import PARTS, Block
from proa.bench.statistics.log_ratio import RatioStats, ratio

_BAD_ERRORS = 0.05


class Verdict(StrEnum):
    """Of the least gain that was asked; `MEASURED`: none was, `FAILING`: over 5 % failed."""

    FAILING = "failing"
    MISSED = "missed"
    UNDECIDED = "undecided"
    KEPT = "kept"
    MEASURED = "measured"


class PartStats(msgspec.Struct, frozen=True, kw_only=True):
    """One part over its blocks; tokens per second of each block in the order of the rounds."""

    name: str
    blocks: int
    tokens_per_s: float | None
    block_tokens_per_s: list[float]
    requests: int
    errors: int

    @property
    def error_rate(self) -> float | None:
        return self.errors / self.requests if self.requests else None


class GainStats(msgspec.Struct, frozen=True, kw_only=True):
    """T(together) / T(main), and T(together) / (T(main) + T(aux)): 1 loses nothing."""

    parts: list[PartStats]
    over_main: RatioStats
    of_sum: RatioStats


def gain_stats(blocks: Sequence[Block]) -> GainStats:
    """Of whole rounds; an incomplete one at the end counts for its parts alone."""
    by_round: dict[int, dict[int, float]] = {}
    for block in blocks:
        by_round.setdefault(block.round, {})[block.part] = block.tokens_per_s
    whole = [found for found in by_round.values() if len(found) == len(PARTS)]
    main, aux, together = ([found[part] for found in whole] for part in range(len(PARTS)))
    both = [first + second for first, second in zip(main, aux, strict=True)]
    return GainStats(
        parts=[part_stats(blocks, part) for part in range(len(PARTS))],
        over_main=ratio(together, main),
        of_sum=ratio(together, both),
    )


def part_stats(blocks: Sequence[Block], part: int) -> PartStats:
    """The part's own blocks."""
    own = sorted((b for b in blocks if b.part == part), key=lambda block: block.round)
    speeds = [block.tokens_per_s for block in own]
    return PartStats(
        name=PARTS[part],
        blocks=len(own),
        tokens_per_s=math.fsum(speeds) / len(speeds) if speeds else None,
        block_tokens_per_s=speeds,
        requests=sum(block.stats.requests for block in own),
        errors=sum(block.stats.errors for block in own),
    )


def verdict_of(stats: GainStats, min_gain: float | None) -> Verdict:
    """Kept where the whole interval of the gain over main is at least `min_gain`."""
    if any((part.error_rate or 0.0) > _BAD_ERRORS for part in stats.parts):
        return Verdict.FAILING
    if min_gain is None:
        return Verdict.MEASURED
    low, high = stats.over_main.low, stats.over_main.high
    if low is not None and low >= min_gain:
        return Verdict.KEPT
    return Verdict.MISSED if high is not None and high < min_gain else Verdict.UNDECIDED
