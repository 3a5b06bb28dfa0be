"""Schedules: what their names say, and the same for the same seed."""

from itertools import islice, pairwise
from statistics import fmean, pvariance

import pytest

from proa.bench.arrivals import Arrival, ArrivalSpec, dispersion, send_times
from proa.errors import FieldError


def gaps(spec: ArrivalSpec, count: int = 20_000) -> list[float]:
    return [b - a for a, b in pairwise(islice(send_times(spec), count))]


def test_constant_is_constant_and_does_not_drift() -> None:
    times = list(islice(send_times(ArrivalSpec(3.0, Arrival.CONSTANT)), 3001))
    assert times[3000] == pytest.approx(1000.0, abs=1e-9)
    assert dispersion(times, window_s=10.0) == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize(
    ("law", "burstiness", "squared_cv"),
    [(Arrival.POISSON, 7.0, 1.0), (Arrival.GAMMA, 4.0, 4.0), (Arrival.GAMMA, 0.25, 0.25)],
)
def test_gaps_have_the_mean_and_the_spread_asked(
    law: Arrival, burstiness: float, squared_cv: float
) -> None:
    found = gaps(ArrivalSpec(5.0, law, burstiness, seed=3))
    mean = fmean(found)
    assert mean == pytest.approx(0.2, rel=0.06)
    assert pvariance(found) / mean**2 == pytest.approx(squared_cv, rel=0.12)


def test_a_seed_is_a_schedule() -> None:
    assert gaps(ArrivalSpec(5.0, seed=1), 50) == gaps(ArrivalSpec(5.0, seed=1), 50)
    assert gaps(ArrivalSpec(5.0, seed=1), 50) != gaps(ArrivalSpec(5.0, seed=2), 50)


def test_dispersion_tells_bursts_and_is_not_told_of_few() -> None:
    bursts = [float(second) for second in range(100) for _ in range(20)]
    assert (dispersion(bursts, window_s=0.5) or 0) > 5
    assert dispersion([1.0, 2.0], window_s=1.0) is None
    assert dispersion([], window_s=1.0) is None


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(FieldError, match="requests per second"):
        ArrivalSpec(rate)
