"""Synthetic servers do what their truth says."""

import numpy as np
import pytest
from benchmarks.boundary.servers import (
    FAMILIES,
    TOP,
    attainment,
    boundary,
    make_server,
    sample,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_truth_is_what_a_long_measurement_finds(family: str) -> None:
    server = make_server(family, np.random.default_rng(1))
    edge = boundary(server, 2000)
    chance = np.random.default_rng(2)
    for users in (max(edge - 3, 1), min(edge + 2, TOP)):
        kept = [
            np.mean(sample(server, users, 200, at_requests=at, rng=chance) >= 0)
            for at in np.linspace(0, 2000, 120)
        ]
        assert np.mean(kept) == pytest.approx(attainment(server, users, 2000), abs=0.02)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_boundary_is_the_last_that_keeps_the_promise(family: str) -> None:
    for number in range(10):
        server = make_server(family, np.random.default_rng([3, number]))
        edge = boundary(server, 1000)
        assert edge == 0 or attainment(server, edge, 1000) >= 0.95
        assert edge == TOP or attainment(server, edge + 1, 1000) < 0.95
