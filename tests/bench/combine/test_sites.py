"""Sites of clients: which users are whose, how fast and how well each is served."""

import pytest
from tests.bench.combine.block_making import block

from proa.bench.combine.sites import site_stats, spread

USERS = (4, 4, 4)


def test_each_site_has_its_own_users_speed_and_errors() -> None:
    blocks = [
        block(0, 0, [10, 20, 10, 20], refusals=[1]),
        block(1, 0, [12, 20, 12, 20]),
    ]
    first, second, *others = site_stats(blocks, USERS, 2)
    assert (first.part, first.site, first.users) == ("main", 1, 2)
    assert (first.requests, first.errors) == (4, 0)
    assert first.user_tokens_per_s == pytest.approx(11, rel=0.02)
    assert first.deviation == pytest.approx(2**0.5, rel=0.02)
    assert second.user_tokens_per_s == pytest.approx(20, rel=0.02)
    assert second.error_rate == pytest.approx(1 / 5)
    assert {(one.requests, one.user_tokens_per_s) for one in others} == {(0, None)}


def test_the_spread_is_between_sites() -> None:
    sites = site_stats([block(0, 0, [10, 20, 10, 20])], USERS, 2)
    found = spread(sites, "main")
    assert found.variance == pytest.approx(50, rel=0.02)
    assert found.share == pytest.approx(50**0.5 / 15, rel=0.02)
    assert spread(site_stats([block(0, 0, [10.0])], (1, 1, 1), 1), "main").variance is None
