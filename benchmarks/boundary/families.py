"""Many servers of each family, searched: how often the interval holds the truth, and its price."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.boundary.outcome import Outcome
from benchmarks.boundary.servers import FAMILIES, Server, boundary, make_server

SEED = 20261130
Search = Callable[[Server, int], Outcome]


class FamilyStats(NamedTuple):
    """Of a family's servers. `missed` is the share whose truth is outside the interval, `off`
    that whose single number is more than one user off; requests are means, warm-up included."""

    family: str
    servers: int
    missed: float
    off: float
    median_width: float
    mean_width: float
    requests: float
    visits: float


def families(search: Search, servers: int, *, seed: int = SEED) -> list[FamilyStats]:
    """`search` gets a server and a seed; the last row is of all families together."""
    found = [_searched(family, search, servers, seed) for family in FAMILIES]
    rows = [_stats(family, runs) for family, runs in zip(FAMILIES, found, strict=True)]
    return [*rows, _stats("all", np.concatenate(found))]


def _searched(family: str, search: Search, servers: int, seed: int) -> NDArray[np.float64]:
    """Shapes: [servers, 5]."""
    rows = []
    for number in range(servers):
        key = [seed, FAMILIES.index(family), number]
        server = make_server(family, np.random.default_rng(key))
        outcome = search(server, seed + 7919 * number)
        truth = boundary(server, outcome.requests)
        rows.append(
            (
                not outcome.low <= truth <= outcome.high,
                abs(outcome.estimate - truth) > 1,
                outcome.high - outcome.low,
                outcome.requests,
                outcome.visits,
            )
        )
    return np.array(rows, dtype=np.float64)


def _stats(family: str, runs: NDArray[np.float64]) -> FamilyStats:
    missed, off, width, requests, visits = runs.mean(axis=0).tolist()
    median = float(np.median(runs[:, 2]))
    return FamilyStats(family, len(runs), missed, off, median, width, requests, visits)
