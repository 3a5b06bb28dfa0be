"""Gauges: who is asked, what is kept of it, and what it was over a window."""

from typing import Any

import pytest

from proa.bench.gauge_stats import (
    GaugeSample,
    gauges_within,
    gpu_compute_share,
    gpu_memory_share,
)
from proa.bench.gauges import GaugeSpec, GaugeWatch
from proa.bench.target import TargetSpec
from proa.telemetry.gpu import GpuReading


class Card:
    """A GPU of this machine."""

    def read(self) -> list[GpuReading]:
        return [GpuReading(index="0", memory_bytes=6e9, memory_total_bytes=8e9, kernel_share=0.5)]


def series(*values: float, name: str = "preemptions_total") -> list[GaugeSample]:
    return [GaugeSample(float(at_s), "t", name, value) for at_s, value in enumerate(values)]


def test_a_window_holds_its_start_and_not_its_end() -> None:
    told = gauges_within(series(1, 2, 4, 8), start_s=1.0, end_s=3.0)["t"]["preemptions_total"]
    assert (told.mean, told.least, told.most, told.n, told.rise) == (3.0, 2.0, 4.0, 2, 2.0)


def test_a_counter_that_began_anew_has_no_rise() -> None:
    told = gauges_within(series(5, 0, 3), start_s=0.0, end_s=9.0)["t"]["preemptions_total"]
    assert told.rise is None
    other = gauges_within(series(5, 6, name="running"), start_s=0.0, end_s=9.0)["t"]["running"]
    assert other.rise is None


def test_shares_of_gpus_are_none_where_nobody_told() -> None:
    assert gpu_memory_share({}) is None
    assert gpu_compute_share({}) is None


@pytest.mark.parametrize(("local", "expected"), [(None, True), (True, True), (False, False)])
async def test_gpus_here_are_asked_where_a_target_is_here(local: Any, expected: bool) -> None:
    target = TargetSpec(name="t", url="http://127.0.0.1:1")
    spec = GaugeSpec(local_gpus=local)
    watch = GaugeWatch(spec, [target], origin_s=0.0, nvml=Card)  # type: ignore[arg-type]
    assert bool(await watch.gpus()) is expected


async def test_gpus_here_say_nothing_of_a_target_elsewhere() -> None:
    target = TargetSpec(name="t", url="http://10.0.0.1:8000")
    watch = GaugeWatch(GaugeSpec(), [target], origin_s=0.0, nvml=Card)  # type: ignore[arg-type]
    assert await watch.gpus() == []
