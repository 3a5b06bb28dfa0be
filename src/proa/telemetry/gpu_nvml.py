"""The GPUs of this machine, by NVIDIA's management library (extra `gpu`)."""

from collections.abc import Callable
from typing import Any

from proa.telemetry.gpu import GpuReading


class Nvml:
    """An open library; `open_nvml` makes it."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._driver = str(self._told(library.nvmlSystemGetDriverVersion) or "")
        self._handles = [
            library.nvmlDeviceGetHandleByIndex(index)
            for index in range(library.nvmlDeviceGetCount())
        ]

    def read(self) -> list[GpuReading]:
        """All GPUs now; takes about a millisecond for each."""
        return [self._reading(str(n), handle) for n, handle in enumerate(self._handles)]

    def _reading(self, index: str, handle: Any) -> GpuReading:
        library = self._library
        memory = self._told(library.nvmlDeviceGetMemoryInfo, handle)
        use = self._told(library.nvmlDeviceGetUtilizationRates, handle)
        power = self._told(library.nvmlDeviceGetPowerUsage, handle)
        limit = self._told(library.nvmlDeviceGetEnforcedPowerLimit, handle)
        return GpuReading(
            index=index,
            name=str(self._told(library.nvmlDeviceGetName, handle) or ""),
            driver=self._driver,
            memory_bytes=None if memory is None else float(memory.used),
            memory_total_bytes=None if memory is None else float(memory.total),
            kernel_share=None if use is None else use.gpu / 100,
            power_w=None if power is None else power / 1000,
            power_limit_w=None if limit is None else limit / 1000,
            temperature_c=self._told(library.nvmlDeviceGetTemperature, handle, 0),
        )

    def _told(self, ask: Callable[..., Any], *args: Any) -> Any:
        """None where this GPU does not tell it."""
        try:
            return ask(*args)
        except self._library.NVMLError:
            return None


def open_nvml() -> Nvml | None:
    """None without the extra, without a driver, or without a GPU."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        return Nvml(pynvml)
    except pynvml.NVMLError:
        return None
