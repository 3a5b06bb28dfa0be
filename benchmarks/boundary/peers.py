"""How other tools search, after their public sources, on synthetic servers.

guidellm: `goodput` profile, vllm-project/guidellm src/guidellm/benchmark/profiles/goodput.py:
streams double from 4 until a level's attainment is below 0.95, then bisection until the gap is
at most 10 % of the highest passing level (and 1 at least), 15 probes at most.
aiperf: `smooth_isotonic` of `max-concurrency-under-sla`, ai-dynamo/aiperf
src/aiperf/orchestrator/search_planner/_smooth_isotonic_phases.py: concurrency doubles from 1
until the P95 breaches, three probes within the bracket, then the root of a monotone spline
through the isotonic fit of the margins, at most three fits; done at a gap of 1 or 5 % of the
failing end. Replicates (opt-in there) are left at their default of none.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from benchmarks.boundary.outcome import Outcome
from benchmarks.boundary.servers import ATTAINMENT, TOP, Server, sample

_MOST_PROBES = 15
_FITS = 3
_FRACTIONS = (0.125, 0.625)


class _Prober:
    """Probes of a fixed number of requests; those of the warm-up, one a user, are counted."""

    def __init__(self, server: Server, count: int, rng: Generator) -> None:
        self._server, self._count, self._rng = server, count, rng
        self.requests = self.visits = 0
        self.best, self.worst = 0, TOP + 1
        self.margins: dict[int, float] = {}

    def passes(self, users: int) -> bool:
        """Probe; the bracket keeps the highest pass and the lowest failure."""
        self.requests += users
        margins = sample(self._server, users, self._count, at_requests=self.requests, rng=self._rng)
        self.requests += self._count
        self.visits += 1
        kept = bool(np.mean(margins >= 0) >= ATTAINMENT)
        slow = float(np.quantile(margins, 1 - ATTAINMENT, method="lower"))
        self.margins[users] = -max(slow, -2.0)
        if kept and users < self.worst:
            self.best = max(self.best, users)
        elif not kept and users > self.best:
            self.worst = min(self.worst, users)
        return kept

    def outcome(self) -> Outcome:
        return Outcome(self.best, self.best, self.worst - 1, self.requests, self.visits)


def guidellm_goodput(server: Server, seed: int, count: int) -> Outcome:
    """`count` requests a probe; what it says is [highest pass, lowest failure - 1]."""
    probe = _Prober(server, count, np.random.default_rng(seed))
    users = 4
    while probe.visits < _MOST_PROBES:
        probe.passes(users)
        if probe.worst > TOP:
            if users >= TOP:
                break
            users = min(2 * users, TOP)
        elif not probe.best:
            if users <= 1:
                break
            users //= 2
        elif probe.worst - probe.best <= max(1.0, 0.1 * probe.best):
            break
        else:
            users = (probe.best + probe.worst) // 2
    return probe.outcome()


def aiperf_smooth_isotonic(server: Server, seed: int, count: int) -> Outcome:
    """`count` requests a probe; what it says is [highest pass, lowest failure - 1]."""
    probe = _Prober(server, count, np.random.default_rng(seed))
    users = 1
    while probe.passes(users) and users < TOP:
        users = min(2 * users, TOP)
    if not probe.best or probe.worst > TOP:
        return probe.outcome()
    for users in _inside(probe, (0.25, 0.5, 0.75)):
        probe.passes(users)
    for _ in range(_FITS):
        if _is_narrow(probe):
            break
        users = _root(probe)
        if _is_flat(probe):
            for more in _inside(probe, _FRACTIONS):
                probe.passes(more)
        elif users in probe.margins:
            break
        else:
            probe.passes(users)
    return probe.outcome()


def _inside(probe: _Prober, fractions: tuple[float, ...]) -> list[int]:
    gap = probe.worst - probe.best
    found = [probe.best + max(1, round(gap * fraction)) for fraction in fractions]
    return [
        users
        for users in dict.fromkeys(found)
        if users < probe.worst and users not in probe.margins
    ]


def _is_narrow(probe: _Prober) -> bool:
    gap = probe.worst - probe.best
    return gap <= 1 or gap / probe.worst < 0.05


def _pooled(probe: _Prober) -> tuple[list[int], list[float]]:
    from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]

    users = sorted(probe.margins)
    fitted = isotonic_regression([probe.margins[n] for n in users], increasing=True)
    return users, [float(value) for value in fitted.x]


def _is_flat(probe: _Prober) -> bool:
    users, fitted = _pooled(probe)
    return len(users) < 4 or len({round(value, 9) for value in fitted}) < 3


def _root(probe: _Prober) -> int:
    from scipy.interpolate import PchipInterpolator  # type: ignore[import-untyped]
    from scipy.optimize import brentq

    users, fitted = _pooled(probe)
    nudge = 1e-9 * max(fitted[-1] - fitted[0], 1e-9)
    curve = PchipInterpolator(users, [value + n * nudge for n, value in enumerate(fitted)])
    low, high = probe.best, probe.worst
    crosses = curve(low) < 0 < curve(high)
    root = round(brentq(curve, low, high)) if crosses else (low + high) // 2
    return min(max(root, low + 1), high - 1)


SEARCHES: dict[str, Callable[..., Outcome]] = {
    "guidellm goodput": guidellm_goodput,
    "aiperf smooth_isotonic": aiperf_smooth_isotonic,
}
