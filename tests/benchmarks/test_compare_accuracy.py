"""The benchmark of compare's accuracy: a proxy's truth, and an interval beside it."""

import pytest
from benchmarks.compare_accuracy.__main__ import Truth, beside, proxy


def test_an_interval_beside_the_truth() -> None:
    found = {"estimate": 3e-4, "low": 2.9e-4, "high": 3.2e-4, "n": 100}
    told = beside(found, 3.1e-4)
    assert told is not None
    assert told["half_width_s"] == pytest.approx(1.5e-5)
    assert told["holds_truth"] is True
    assert (beside(found, 3.3e-4) or {})["holds_truth"] is False
    assert (beside(found, None) or {})["holds_truth"] is None
    assert beside(found | {"low": None}, 3e-4) is None
    assert beside(None, 3e-4) is None


async def test_a_proxy_tells_its_truth_at_its_end() -> None:
    truth = Truth(requests=7)
    async with proxy("http://127.0.0.1:9", truth, "--request", "0.001") as url:
        assert url.startswith("http://127.0.0.1:")
    assert (truth.requests, truth.request_s) == (0, 0.0)
