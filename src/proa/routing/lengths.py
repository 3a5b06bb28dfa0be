"""What answers use of their limits, learned by class of limit."""

from collections.abc import Sequence

from proa.domain.lengths import LIMIT_CLASSES, typical_limit
from proa.routing.fading import FadingRatio

_MEMORY = 200.0  # answers of a class that its mean goes back
_ENOUGH = 5.0  # answers before one is believed


class LengthLearner:
    """Takes in sums over answers by class of their limit, see `domain/lengths.py`.

    Where clients set exact limits this predicts lengths; where they always name the same
    large one it is the mean of the answers.
    """

    def __init__(self) -> None:
        self._uses = [FadingRatio(_MEMORY) for _ in range(LIMIT_CLASSES)]

    def observe(self, tokens: Sequence[float], limits: Sequence[float]) -> None:
        """Tokens of answers that have ended, and what they were limited to, by class."""
        for of_class, use in enumerate(self._uses):
            if limits[of_class]:
                count = limits[of_class] / typical_limit(of_class)
                use.add(tokens[of_class], limits[of_class], count)

    @property
    def limit_use(self) -> tuple[float, ...]:
        """The part of the limit, by class; 0 where too few answers tell it."""
        return tuple(
            (use.value or 0.0) if use.under >= _ENOUGH * typical_limit(of_class) else 0.0
            for of_class, use in enumerate(self._uses)
        )
