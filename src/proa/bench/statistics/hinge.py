"""The gap between tokens by users: ITL = a + b n + c (n - n_c)+, the planner's calibration.

a is a step's fixed time, b what a user more costs, and beyond the knee n_c each costs b + c:
the batch is full, the cache is, or prefill takes the steps' time.
Source: Seber & Wild 1989, Nonlinear Regression, chapter 9; Draper & Smith, section 2.1 (lack
of fit).
"""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Interval = tuple[float, float]
_KNOTS = 81
_CHI_SQUARE_95 = 3.841
_HINGE_IS_BETTER = 9.0
_PRIOR_VISITS = 4.0
_LEAST_ERROR = 0.002


class GapSample(NamedTuple):
    """One visit: users, mean gap, and the standard error of that mean (seconds)."""

    users: float
    itl_s: float
    error_s: float


class Hinge(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds; intervals at 95 %.

    Where a straight line does as well, `c_s` is 0 and `knee_users` the highest level measured,
    up to which the line holds; it then has no interval. `lack_of_fit_p` is the chance of a
    misfit at least as bad if the shape is right; below 0.05 the shape is wrong. None where
    there are too few levels to tell.
    """

    a_s: float
    b_s: float
    c_s: float
    knee_users: float
    a_interval_s: Interval
    b_interval_s: Interval
    c_interval_s: Interval | None
    knee_interval_users: Interval | None
    lack_of_fit_p: float | None
    levels: int


class _Levels(NamedTuple):
    users: "Floats"
    itl_s: "Floats"
    weight: "Floats"


def hinge_fit(visits: Sequence[GapSample]) -> Hinge | None:
    """Least squares weighted by 1 / error^2; None below three levels.

    Errors are widened by what visits of one level differ beyond them. A knee is told only
    where it improves the fit by 9 (chi-square) and five levels stand behind it.
    """
    levels = _levels(visits)
    if len(levels.users) < 3:
        return None
    straight, straight_misfit = _solve(levels, None)
    knots, misfits = _scanned(levels, levels.users[1], levels.users[-2])
    near = knots[misfits <= misfits.min() + _CHI_SQUARE_95]
    step = knots[1] - knots[0]
    knots, misfits = _scanned(levels, near[0] - step, near[-1] + step)
    if len(levels.users) < 5 or straight_misfit - misfits.min() < _HINGE_IS_BETTER:
        return _told(levels, straight, None, straight_misfit, None)
    inside = knots[misfits <= misfits.min() + _CHI_SQUARE_95]
    knot = float(knots[misfits.argmin()])
    found, misfit = _solve(levels, knot)
    return _told(levels, found, knot, misfit, (float(inside[0]), float(inside[-1])))


def _scanned(levels: _Levels, first: float, last: float) -> tuple["Floats", "Floats"]:
    """Knots from `first` to `last` and the misfit of each."""
    import numpy as np

    low, high = levels.users[1], levels.users[-2]
    knots = np.linspace(max(first, low), min(last, high), _KNOTS)
    return knots, np.array([_solve(levels, float(knot))[1] for knot in knots])


def _levels(visits: Sequence[GapSample]) -> _Levels:
    """Visits of a level pooled."""
    import numpy as np

    ordered = sorted(visits)
    users, means, weights = [], [], []
    pearson = freedom = 0.0
    for load, group in groupby(ordered, key=lambda visit: visit.users):
        same = list(group)
        each = [1 / max(v.error_s, _LEAST_ERROR * v.itl_s) ** 2 for v in same]
        mean = sum(w * v.itl_s for w, v in zip(each, same, strict=True)) / sum(each)
        pearson += sum(w * (v.itl_s - mean) ** 2 for w, v in zip(each, same, strict=True))
        freedom += len(same) - 1
        users.append(load)
        means.append(mean)
        weights.append(sum(each))
    widened = max(1.0, (_PRIOR_VISITS + pearson) / (_PRIOR_VISITS + freedom))
    return _Levels(np.array(users), np.array(means), np.array(weights) / widened)


def _columns(users: "Floats", knot: float | None) -> "Floats":
    import numpy as np

    columns = [np.ones_like(users), users]
    if knot is not None:
        columns.append(np.maximum(users - knot, 0.0))
    return np.column_stack(columns)


def _solve(levels: _Levels, knot: float | None) -> tuple["Floats", float]:
    """a, b (and c), none below 0, and the misfit."""
    import numpy as np
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    root = np.sqrt(levels.weight)
    found, residual = nnls(_columns(levels.users, knot) * root[:, None], levels.itl_s * root)
    return found, float(residual) ** 2


def _told(
    levels: _Levels, found: "Floats", knot: float | None, misfit: float, knee: Interval | None
) -> Hinge:
    import numpy as np
    from scipy.special import chdtrc  # type: ignore[import-untyped]

    slopes = _columns(levels.users, knot)
    if knot is not None:
        slopes = np.column_stack([slopes, -found[2] * (levels.users > knot)])
    covariance = np.linalg.pinv((slopes * levels.weight[:, None]).T @ slopes)
    reach = math.sqrt(_CHI_SQUARE_95) * np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def interval(n: int) -> Interval:
        return max(0.0, float(found[n] - reach[n])), float(found[n] + reach[n])

    freedom = len(levels.users) - slopes.shape[1]
    return Hinge(
        a_s=float(found[0]),
        b_s=float(found[1]),
        c_s=0.0 if knot is None else float(found[2]),
        knee_users=float(levels.users[-1]) if knot is None else knot,
        a_interval_s=interval(0),
        b_interval_s=interval(1),
        c_interval_s=None if knot is None else interval(2),
        knee_interval_users=knee,
        lack_of_fit_p=float(chdtrc(freedom, misfit)) if freedom > 0 else None,
        levels=len(levels.users),
    )
