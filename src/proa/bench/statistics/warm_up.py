"""Where a series begins to be steady."""

import math
from collections.abc import Sequence

_BATCH = 5
_SURE = 3.0


def mser5(values: Sequence[float]) -> int:
    """How many values to leave out at the beginning, by MSER-5; at most half of them.

    The cut d that makes the mean of the rest surest: min over d of
    sum((x_j - mean)^2 for j >= d) / (m - d)^2 over means x of five neighbours each.
    Source: White, Cobb & Spratt 2000, A comparison of five steady-state truncation heuristics.
    """
    batches = len(values) // _BATCH
    means = [math.fsum(values[n * _BATCH : (n + 1) * _BATCH]) / _BATCH for n in range(batches)]
    centre = math.fsum(means) / batches if batches else 0.0
    best, cut, total, squares = math.inf, 0, 0.0, 0.0
    for begin in range(batches - 1, -1, -1):
        total += means[begin] - centre
        squares += (means[begin] - centre) ** 2
        kept = batches - begin
        found = max(squares - total**2 / kept, 0.0) / kept**2
        if begin <= batches // 2 and kept > 1 and found <= best:
            best, cut = found, begin
    return cut * _BATCH


def steady_from(values: Sequence[float]) -> int:
    """MSER-5's cut where what it cuts is another level than the rest (3 standard errors).

    In noise alone MSER-5 cuts, too, here and there; requests are too dear for that.
    """
    cut = mser5(values)
    if not cut or len(values) - cut < 2 * _BATCH:
        return 0
    early, late = values[:cut], values[cut:]
    means = [math.fsum(part) / len(part) for part in (early, late)]
    spread = math.fsum((value - means[1]) ** 2 for value in late) / (len(late) - 1)
    error = math.sqrt(spread * (1 / len(early) + 1 / len(late)))
    return cut if abs(means[0] - means[1]) > _SURE * error else 0
