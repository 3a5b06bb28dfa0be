"""What the benchmark tells of its samples."""

from benchmarks.load import LoadSample
from benchmarks.measure import PairSample, RunStats
from benchmarks.report import report, table


def sample(us: float, *, count: int = 1000, reads: int = 1000) -> LoadSample:
    return LoadSample(
        count=count,
        reads=reads,
        seconds=2.0,
        worker_ns=int(us * count * 1e3),
        apart_ns=20_000_000,
        resident_bytes=2**20,
    )


def stats(reads: int = 1000) -> RunStats:
    pairs = [PairSample(sample(us, reads=reads), sample(50)) for us in (150, 100, 110)]
    return RunStats(
        json=pairs,
        streams=pairs,
        variants={"with a log": pairs[:1]},
        latencies_ns={"direct": list(range(1000, 102_000, 1000))},
        help_s=[0.1, 0.3, 0.2],
        machine={"cpu": "any", "cpus": "2", "kernel": "6", "python": "3.11", "nginx": "1.22"},
    )


def test_figures_are_medians_of_pairs() -> None:
    data = report(stats())
    assert data["json_request"]["ratio"] == 2.2
    assert data["json_request"]["ratios"] == [3.0, 2.0, 2.2]
    assert data["json_request"]["proa_cpu_us"] == 110
    assert data["json_request"]["nginx_per_s"] == 500
    assert data["variants"]["with a log"]["ratio"] == 3.0
    assert data["latency_us"]["direct"] == {"p50": 51.0, "p99": 100.0}
    assert data["supervisor_cpu_ms_per_s"] == 10.0
    assert data["help_s"] == 0.2


def test_the_table_warns_of_events_that_came_together() -> None:
    assert "at a time" not in table(report(stats()))
    assert "proa wrote 2.00 events at a time" in table(report(stats(reads=500)))
