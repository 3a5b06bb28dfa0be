"""The boundary: the highest load that keeps the promise, with an interval.

Each place where the boundary may be is judged by how much worse the best falling curve
becomes that crosses the threshold just there (`isotonic.cut_scores`). The interval holds all
places whose likelihood ratio stays below a limit. A search that stops when its
interval is short makes intervals too short, and curves that are not steep make them too long:
what comes of both is measured in docs/bench-boundary.md.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import msgspec

from proa.bench.statistics.evidence import Evidence, Question, pooled
from proa.bench.statistics.isotonic import cut_scores, falling, mean_score, share_score

CONFIDENCE = 0.90
LIMIT = 2.706
"""2 x log-likelihood ratio at the ends of such an interval: chi-square with one freedom."""


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the boundary, in users (or requests per second).

    `passes` is the highest asked level that keeps the promise with confidence, `fails` the
    lowest that does not; None where there is none. `low` 0 means that even the lowest load
    may fail, `high` None that no load was high enough. `attainment` is that of `passes` (in a
    mean rule the mean margin), `attainment_low` its lower end at 95 %.
    """

    passes: float | None
    fails: float | None
    estimate: float | None
    low: float
    high: float | None
    confidence: float
    decided: bool
    attainment: float | None = None
    attainment_low: float | None = None
    more_requests: int | None = None
    more_minutes: float | None = None


class Places:
    """How well each place of the boundary explains a history.

    Place k means that the loads grid[:k] pass and grid[k:] do not.
    """

    def __init__(
        self, history: Sequence[Evidence], grid: Sequence[float], question: Question
    ) -> None:
        self.grid = tuple(grid)
        self.question = question
        self.levels, self.effect = pooled(history)

    @cached_property
    def ratios(self) -> list[float]:
        """2 x log-likelihood ratio against the best place; 0 is the best."""
        score = mean_score if self.question.of_mean else share_score
        scores = cut_scores(self.levels, self.question.threshold, score)
        best = max(scores)
        found, seen = [], 0
        for place in range(len(self.grid) + 1):
            while (
                seen < len(self.levels) and place and self.levels[seen].load <= self.grid[place - 1]
            ):
                seen += 1
            found.append(2 * (best - scores[seen]))
        return found

    def interval(self, limit: float) -> tuple[int, int]:
        """First and last place that stay below the limit."""
        inside = [place for place, ratio in enumerate(self.ratios) if ratio <= limit]
        return inside[0], inside[-1]

    @cached_property
    def weights(self) -> list[float]:
        """exp(-ratio / 2), to sum 1: where the boundary probably is."""
        raw = [math.exp(-ratio / 2) for ratio in self.ratios]
        total = math.fsum(raw)
        return [weight / total for weight in raw]

    def median(self) -> int:
        passed = 0.0
        for place, weight in enumerate(self.weights):
            passed += weight
            if passed >= 0.5:
                return place
        return len(self.grid)

    def load(self, place: int) -> float:
        return self.grid[place - 1] if place else 0.0

    def curve(self) -> list[float]:
        """The pooled attainment of `levels`."""
        return falling(self.levels)
