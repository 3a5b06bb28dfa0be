"""The hinge is found where there is one, and a straight line is not bent."""

import random

import pytest

from proa.bench.statistics.hinge import GapSample, hinge_fit

LEVELS = (1, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48)


def visits(
    knee: float, bend: float, rng: random.Random, *, repeats: int = 2, error: float = 0.01
) -> list[GapSample]:
    found = []
    for users in LEVELS * repeats:
        true_s = 0.010 + 0.0005 * users + bend * max(0.0, users - knee)
        found.append(GapSample(users, true_s * (1 + rng.gauss(0, error)), true_s * error))
    return found


def test_the_knee_is_found_with_its_interval() -> None:
    rng, inside = random.Random(12), 0
    for _ in range(10):
        found = hinge_fit(visits(24, 0.002, rng))
        assert found is not None
        assert found.knee_users == pytest.approx(24, abs=2.5)
        assert found.c_s == pytest.approx(0.002, rel=0.25)
        assert found.knee_interval_users is not None
        low, high = found.knee_interval_users
        inside += low <= 24 <= high
    assert inside >= 8


def test_slopes_are_covered_by_their_intervals() -> None:
    rng, inside = random.Random(13), 0
    for _ in range(10):
        found = hinge_fit(visits(24, 0.002, rng))
        assert found is not None
        inside += found.b_interval_s[0] <= 0.0005 <= found.b_interval_s[1]
        inside += found.a_interval_s[0] <= 0.010 <= found.a_interval_s[1]
    assert inside >= 17


def test_a_straight_line_stays_straight_up_to_its_end() -> None:
    rng = random.Random(14)
    bent = 0
    for _ in range(10):
        found = hinge_fit(visits(48, 0.0, rng))
        assert found is not None
        bent += found.c_s > 0
        if not found.c_s:
            assert found.knee_users == 48
            assert found.knee_interval_users is None
    assert bent <= 2


def test_another_shape_is_told_as_a_misfit() -> None:
    def wave(users: int) -> float:
        return 0.02 + 0.004 * (users // 8 % 2)

    wavy = [GapSample(n, wave(n), 0.0001) for n in LEVELS]
    found = hinge_fit(wavy)
    assert found is not None
    assert found.lack_of_fit_p is not None
    assert found.lack_of_fit_p < 0.01
    right = hinge_fit(visits(24, 0.002, random.Random(15)))
    assert right is not None
    assert right.lack_of_fit_p is not None
    assert right.lack_of_fit_p > 0.05


def test_levels_that_differ_between_visits_widen_the_intervals() -> None:
    calm = hinge_fit(visits(24, 0.002, random.Random(16), repeats=3))
    claimed = [
        GapSample(v.users, v.itl_s, v.error_s / 8)
        for v in visits(24, 0.002, random.Random(16), repeats=3)
    ]
    moody = hinge_fit(claimed)
    assert calm is not None
    assert moody is not None
    width = [one.b_interval_s[1] - one.b_interval_s[0] for one in (calm, moody)]
    assert width[1] > 0.4 * width[0]


def test_two_levels_are_no_curve() -> None:
    assert hinge_fit([GapSample(8, 0.02, 0.001), GapSample(16, 0.03, 0.001)]) is None
