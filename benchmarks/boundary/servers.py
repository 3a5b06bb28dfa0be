"""Synthetic servers: how fast they serve n users, and how much that varies."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

FAMILIES = ("smooth", "cliff", "noisy", "drifting")
ATTAINMENT = 0.95
TOP = 48
_DRIFT_REQUESTS = 3000.0


class Server(NamedTuple):
    """A server by the logarithm of a user's speed over the speed asked.

    log speed = `edge_margin` - slope x (users - edge) - drop beyond the edge + noise. The
    noise of a request has the deviation `spread`, a share `shared` of its variance is common to
    requests that run at the same time, and `tail` is the share of requests with thrice the
    deviation. Each visit has a mood of its own (`mood`). `drift` is the change of log speed
    over the first 3,000 requests, after which it stays. Above the edge `refusing` is the share
    of requests that are refused.
    """

    family: str
    edge: float
    edge_margin: float
    slope: float
    drop: float
    spread: float
    shared: float
    tail: float
    mood: float
    drift: float
    refusing: float


def make_server(family: str, rng: Generator) -> Server:
    """One of a family; the speed falls by 1.5 to 5 % a user next to the boundary."""
    spread = rng.uniform(0.04, 0.12)
    fields = {
        "edge": rng.uniform(9.0, 45.0),
        "edge_margin": 1.645 * spread,
        "slope": rng.uniform(0.015, 0.05),
        "drop": 0.0,
        "spread": spread,
        "shared": rng.uniform(0.0, 0.2),
        "tail": 0.0,
        "mood": rng.uniform(0.0, 0.008),
        "drift": 0.0,
        "refusing": 0.0,
    }
    if family == "cliff":
        fields["edge_margin"] = spread * rng.uniform(2.2, 4.0)
        fields["slope"] = rng.uniform(0.001, 0.008)
        fields["drop"] = rng.uniform(0.15, 0.6)
        fields["refusing"] = rng.choice([0.0, rng.uniform(0.1, 0.5)])
    elif family == "noisy":
        fields["spread"] = rng.uniform(0.10, 0.20)
        fields["edge_margin"] = 1.645 * fields["spread"]
        fields["slope"] = rng.uniform(0.02, 0.05)
        fields["shared"] = rng.uniform(0.1, 0.4)
        fields["tail"] = rng.uniform(0.0, 0.03)
        fields["mood"] = rng.uniform(0.01, 0.03)
    elif family == "drifting":
        fields["drift"] = rng.choice([-1.0, 1.0]) * rng.uniform(0.02, 0.06)
    return Server(family, **fields)


def drifted(server: Server, requests: float) -> float:
    """Change of log speed after so many requests of the run, half of the drift at its middle."""
    return server.drift * (min(requests / _DRIFT_REQUESTS, 1.0) - 0.5)


def mean_drift(server: Server, requests: float) -> NDArray[np.float64]:
    """The changes over a run of so many requests, evenly in time."""
    points = np.linspace(0.0, requests, 41)
    return np.asarray(server.drift * (np.minimum(points / _DRIFT_REQUESTS, 1.0) - 0.5))


def level_margin(server: Server, users: float) -> float:
    """Log speed over the speed asked, without noise, mood and drift."""
    over = server.drop if users > server.edge else 0.0
    return server.edge_margin - server.slope * (users - server.edge) - over


def sample(
    server: Server, users: int, count: int, *, at_requests: float, rng: Generator
) -> NDArray[np.float64]:
    """`count` requests of one visit in the order of time; -inf where refused."""
    centre = level_margin(server, users) + server.mood * rng.standard_normal()
    centre += drifted(server, at_requests)
    waves = count // max(users // 2, 1) + 1
    common = np.repeat(rng.standard_normal(waves), max(users // 2, 1))[:count]
    own = rng.standard_normal(count)
    if server.tail:
        own = np.where(rng.random(count) < server.tail, 3 * own, own)
    noise = np.sqrt(server.shared) * common + np.sqrt(1 - server.shared) * own
    margins = centre + server.spread * noise
    if server.refusing and users > server.edge:
        return np.where(rng.random(count) < server.refusing, -np.inf, margins)
    return np.asarray(margins)


def attainment(server: Server, users: int, requests: float) -> float:
    """True share of requests that are fast enough, over moods and a run of so many requests."""
    centres = level_margin(server, users) + mean_drift(server, requests)
    kept = 0.0
    shares = ((1 - server.tail, 1.0), (server.tail, 9.0))
    for share, factor in shares:
        own = server.shared + (1 - server.shared) * factor
        deviation = np.sqrt(server.spread**2 * own + server.mood**2)
        kept += share * float(np.mean(_normal(centres / deviation)))
    return kept * (1 - server.refusing) if users > server.edge else kept


def boundary(server: Server, requests: float) -> int:
    """The highest number of users that keep the promise, over a run of so many requests."""
    low, high = 0, TOP
    while low < high:
        middle = (low + high + 1) // 2
        if attainment(server, middle, requests) >= ATTAINMENT:
            low = middle
        else:
            high = middle - 1
    return low


def _normal(values: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import ndtr  # type: ignore[import-untyped]

    return np.asarray(ndtr(values))
