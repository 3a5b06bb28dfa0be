"""NVML's units and its gaps, with a library that answers as the real one does."""

from types import SimpleNamespace
from typing import Any

import pytest

from proa.telemetry.gpu_nvml import Nvml, open_nvml


class Refused(Exception):
    pass


def refuse(*_: Any) -> Any:
    raise Refused


def library(**changes: Any) -> Any:
    return SimpleNamespace(
        **{
            "NVMLError": Refused,
            "nvmlSystemGetDriverVersion": lambda: "570.86.15",
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(used=20 * 2**30, total=24 * 2**30),
            "nvmlDeviceGetUtilizationRates": lambda _: SimpleNamespace(gpu=98, memory=60),
            "nvmlDeviceGetPowerUsage": lambda _: 347_500,
            "nvmlDeviceGetEnforcedPowerLimit": lambda _: 350_000,
            "nvmlDeviceGetName": lambda _: "NVIDIA GeForce RTX 3090",
            "nvmlDeviceGetTemperature": lambda _, sensor: 71 + sensor,
        }
        | changes
    )


def test_units_are_bytes_watts_and_shares() -> None:
    (told,) = Nvml(library()).read()
    assert (told.index, told.name, told.driver) == ("0", "NVIDIA GeForce RTX 3090", "570.86.15")
    assert (told.memory_bytes, told.memory_total_bytes) == (20 * 2**30, 24 * 2**30)
    assert (told.power_w, told.power_limit_w) == (347.5, 350.0)
    assert told.kernel_share == pytest.approx(0.98)
    assert (told.temperature_c, told.sm_share) == (71.0, None)


def test_what_a_gpu_does_not_tell_is_none() -> None:
    (told,) = Nvml(library(nvmlDeviceGetPowerUsage=refuse, nvmlDeviceGetMemoryInfo=refuse)).read()
    assert (told.power_w, told.memory_bytes, told.memory_total_bytes) == (None, None, None)
    assert told.power_limit_w == 350.0


def test_without_a_driver_there_are_no_gpus() -> None:
    opened = open_nvml()
    assert opened is None or opened.read()
