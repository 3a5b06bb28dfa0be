"""Whether the engine was another at the end: the first level's first visit against its last."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec

from proa.bench.statistics.effective import standard_error

_NEGLIGIBLE = 0.01


class Drift(msgspec.Struct, frozen=True):
    """Change of a mean as a share of the first visit's, with its interval."""

    change: float
    low: float
    high: float

    @property
    def is_seen(self) -> bool:
        """Beyond chance, and more than 1 %."""
        return self.low * self.high > 0 and abs(self.change) > _NEGLIGIBLE


def drift_between(
    first: Sequence[float], last: Sequence[float], *, confidence: float = 0.95
) -> Drift | None:
    """Of values in the order of time (TPOT of each request); None below 8 values each.

    The logarithm of the ratio of means, with standard errors by batch means.
    """
    errors = [standard_error(values) for values in (first, last)]
    means = [math.fsum(values) / len(values) if values else 0.0 for values in (first, last)]
    if errors[0] is None or errors[1] is None or min(means) <= 0:
        return None
    relative = math.hypot(errors[0] / means[0], errors[1] / means[1])
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * relative
    log = math.log(means[1] / means[0])
    return Drift(math.expm1(log), math.expm1(log - reach), math.expm1(log + reach))
