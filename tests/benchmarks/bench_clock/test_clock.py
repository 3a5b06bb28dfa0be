"""The trials, in short: whatever starves the client, it is not called valid unless it is true."""

import pytest
from benchmarks.bench_clock.__main__ import reached, table
from benchmarks.bench_clock.clock import ClockLoad, ClockStats, hogs_for_all_cpus, trial
from benchmarks.bench_clock.truth import BiasStats, TimesStats

from proa.bench.health import ClientHealth, Validity
from proa.bench.process_messages import LoadSpec

LOAD = ClockLoad(streams=20, gap_s=0.01, ttft_s=0.05, tokens=20, seconds=0.5, warmup_s=0.3)


@pytest.mark.parametrize("asks_kernel", [True, False])
async def test_a_starved_client_is_not_called_valid_unless_it_is_true(asks_kernel: bool) -> None:
    held_back = LoadSpec(asks_kernel=asks_kernel)
    told = await trial("hogs", LOAD, held_back=held_back, hogs=hogs_for_all_cpus())
    assert told.bias.requests > 0
    # Twice what is promised: hogs also put the server off between a stamp and its sending.
    assert told.client.verdict != "valid" or told.late_share <= 0.02


async def test_one_connection_is_never_valid() -> None:
    """B22, B23: the load that was asked is not there."""
    told = await trial("1 connection", LOAD, held_back=LoadSpec(max_connections=1))
    assert told.client.verdict == "invalid"
    assert "1 connection" in table([told], [])
    assert not reached([told])


def test_valid_with_stamps_that_are_late_is_false() -> None:
    """And fails the benchmark, in whichever trial it is."""
    times = TimesStats(1, 0.1, 0.1, 0.1, 0.01, 100.0)
    bias = BiasStats(1, 1e-5, 1e-4, 1e-5, 1e-4, 0.0, 0.0)
    client = ClientHealth(verdict=Validity.VALID)
    true = ClockStats("t", bias, times, 10_500.0, client)
    late = ClockStats("t", bias, times, 10_500.0, client, late_share=0.02)
    few = ClockStats("t", bias._replace(ttft_p99_s=0.002), times, 10_500.0, client)
    many = ClockStats("t", few.bias._replace(requests=600), times, 10_500.0, client)
    assert [each.is_false_valid for each in (true, late, few, many)] == [False, True, False, True]
    assert reached([true, true])
    assert not reached([true, late])
