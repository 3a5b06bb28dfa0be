"""Does the gateway hold events back? A transparent hop cannot make gaps between tokens shorter.

What is held back arrives in bundles: fewer reads than events, gaps near 0 between long ones,
a lower time per token with a later first one. That looks like a win and is a fault.
"""

from collections.abc import Sequence
from enum import StrEnum
from statistics import median

import msgspec

from proa.bench.compare.shifts import differences
from proa.bench.compare.spec import PairSample
from proa.bench.health import reads_per_event
from proa.bench.sample import RequestSample
from proa.bench.statistics.hodges_lehmann import shift

_FEWER_READS = 0.8
_FAR_FEWER_READS = 0.5
_SINGLE_READS = 0.9
_SHORT_GAP = 0.1  # of the direct side's median gap
_SEEN_GAP_S = 0.0002  # shorter gaps are not told from none
_MORE_BUNCHED = 0.2
_FASTER = 0.02
_HELD_BACK = 0.05


class Sign(StrEnum):
    """What speaks for a gateway that holds events back."""

    READS = "reads"
    BUNCHED = "bunched"
    FASTER = "faster"
    HELD_BACK = "held_back"


class SideFlow(msgspec.Struct, frozen=True, kw_only=True):
    """How events came on one side.

    `bunched_share` are gaps under a tenth of the direct side's median gap (None where that is
    too short to tell), `held_back_share` answers that came faster than any engine writes.
    """

    reads_per_event: float | None
    bunched_share: float | None
    held_back_share: float


class Buffering(msgspec.Struct, frozen=True, kw_only=True):
    """`signs` is empty where nothing speaks for it."""

    direct: SideFlow
    gateway: SideFlow
    signs: tuple[Sign, ...]


def buffering(pairs: Sequence[PairSample]) -> Buffering:
    """Of whole pairs.

    Signs: reads per event under 0.8 of the direct side's (0.5 where that is below 0.9 itself: a
    busy client reads several events at once, too); 20 % more gaps bunched; the shift of
    the time per token under -2 % with its whole interval; 5 % more answers held back whole.
    """
    whole = [pair for pair in pairs if pair.is_whole]
    sides = [[pair.sides[side] for pair in whole] for side in (0, 1)]
    gaps = [gap for sample in sides[0] for gap in sample.gaps_s]
    usual_s = median(gaps) if gaps else 0.0
    direct, gateway = (_flow(samples, usual_s) for samples in sides)
    return Buffering(direct=direct, gateway=gateway, signs=_signs(whole, direct, gateway))


def _flow(samples: Sequence[RequestSample], usual_s: float) -> SideFlow:
    gaps = [gap for sample in samples for gap in sample.gaps_s]
    bunched = None
    if gaps and usual_s >= _SEEN_GAP_S:
        bunched = sum(gap < _SHORT_GAP * usual_s for gap in gaps) / len(gaps)
    held = sum(sample.is_impossibly_fast for sample in samples)
    return SideFlow(
        reads_per_event=reads_per_event(samples),
        bunched_share=bunched,
        held_back_share=held / len(samples) if samples else 0.0,
    )


def _signs(pairs: Sequence[PairSample], direct: SideFlow, gateway: SideFlow) -> tuple[Sign, ...]:
    signs = []
    if _reads_are_fewer(direct.reads_per_event, gateway.reads_per_event):
        signs.append(Sign.READS)
    bunched = direct.bunched_share, gateway.bunched_share
    if None not in bunched and (bunched[1] or 0.0) - (bunched[0] or 0.0) > _MORE_BUNCHED:
        signs.append(Sign.BUNCHED)
    usual = [s for pair in pairs if (s := pair.direct.tpot_s) is not None]
    high = shift(differences(pairs, "tpot_s")).high
    if usual and high is not None and high < -_FASTER * median(usual):
        signs.append(Sign.FASTER)
    if gateway.held_back_share - direct.held_back_share > _HELD_BACK:
        signs.append(Sign.HELD_BACK)
    return tuple(signs)


def _reads_are_fewer(direct: float | None, gateway: float | None) -> bool:
    if direct is None or gateway is None:
        return False
    limit = _FEWER_READS if direct >= _SINGLE_READS else _FAR_FEWER_READS
    return gateway < limit * direct
