"""What an engine's lease adds to its counts, and takes away again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.domain.fleet import EngineSpec
from proa.domain.lengths import UNLIMITED
from proa.domain.outcome import Outcome
from proa.gateway.lease import Lease
from proa.gateway.link import EngineLink
from proa.routing.spec import BreakerSpec
from proa.telemetry.rows import Engine, SharedRows


def new_link() -> EngineLink:
    row = SharedRows.create(2).rows[1]
    return EngineLink(EngineSpec(name="a", url="http://a"), row, 0, BreakerSpec())


@pytest.mark.parametrize(("limit", "counted"), [(300, 300), (None, UNLIMITED)])
def test_other_workers_see_the_limits(limit: int | None, counted: int) -> None:
    link = new_link()
    Lease(link, 0.0, limit)
    assert link.row[link.base + Engine.LIMITS_IN_FLIGHT] == counted
    assert link.row[link.base + Engine.IN_FLIGHT] == 1


@given(st.lists(st.none() | st.integers(1, UNLIMITED), max_size=20))
def test_nothing_stays_behind(limits: list[int | None]) -> None:
    link = new_link()
    leases = [Lease(link, 0.0, limit) for limit in limits]
    for lease in leases * 2:  # a release is idempotent
        lease.release(Outcome.OK, 1.0)
    assert (link.in_flight, link.limits_in_flight) == (0, 0)
