"""The points that no other beats in everything: a Pareto front over arrays."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]


def pareto_front(losses: Floats, *, tolerance: float = 0.0) -> Indexes:
    """Indexes of the rows that no other row dominates, in ascending order.

    Row a dominates b if a <= b in every column and a < b in one; of equal rows the first stays.
    With a `tolerance` of 0.05, losses that differ by less than about 5 % count as equal
    (columns are cut into steps of that ratio first), so the front has few, distinct points.

    Shapes:
        losses: [points, objectives], each to be made small; infinite where unknown.
    Units:
        any; with a tolerance every loss must be above 0.

    Raises:
        ValueError: a loss is not a number, or not above 0 with a tolerance.
    """
    if np.isnan(losses).any():
        raise ValueError("a loss is not a number")
    if losses.shape[0] == 0:
        return np.empty(0, dtype=np.intp)
    graded = _graded(losses, tolerance) if tolerance else losses
    first = _first_of_each(graded, losses)
    return np.sort(first[_undominated(graded[first])])


def _graded(losses: Floats, tolerance: float) -> Floats:
    if (losses <= 0).any():
        raise ValueError("with a tolerance every loss must be above 0")
    graded: Floats = np.floor(np.log(losses) / np.log1p(tolerance))
    return graded


def _first_of_each(graded: Floats, losses: Floats) -> Indexes:
    """One row of each distinct grade: the least by its true losses, column by column."""
    columns = range(losses.shape[1] - 1, -1, -1)
    order = np.lexsort([losses[:, at] for at in columns] + [graded[:, at] for at in columns])
    ordered = graded[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order[fresh]


def _undominated(rows: Floats) -> Indexes:
    """Of distinct rows in lexical order: one that is dominated comes after one that does it."""
    alive = np.arange(len(rows))
    at = 0
    while at < len(alive):
        kept = (rows[alive] < rows[alive[at]]).any(axis=1)
        kept[: at + 1] = True
        alive = alive[kept]
        at += 1
    return alive
