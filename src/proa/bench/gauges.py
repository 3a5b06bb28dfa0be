"""Gauges beside the load: what engines and GPUs say of themselves, once a second.

They are asked from the run's own process, never from those that stamp the load.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from proa.bench.ask import get
from proa.bench.engine_counters import read_engine
from proa.bench.gauge_stats import GPU, GaugeSample
from proa.bench.target import TargetSpec, address_of
from proa.domain.load import EngineLoad
from proa.engines.prometheus import Readings
from proa.telemetry.gpu import GpuReading
from proa.telemetry.gpu_exporter import NAMES, read_gpus
from proa.telemetry.gpu_nvml import Nvml, open_nvml

_TIMEOUT_S = 2.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NOT_GAUGES = ("at_s", "adapters_running", "adapters_max", "is_sleeping")
_NOT_NUMBERS = ("index", "name", "driver")


class GaugeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to ask; `gpu_urls` are exporters' pages.

    GPUs of this machine are asked where `local_gpus` says so; None: where a target is here.
    """

    every_s: float = 1.0
    gpu_urls: tuple[str, ...] = ()
    local_gpus: bool | None = None


class GaugeWatch:
    """Asks until it is cancelled; times are the run's."""

    def __init__(
        self,
        spec: GaugeSpec,
        targets: Sequence[TargetSpec],
        *,
        origin_s: float,
        nvml: Callable[[], Nvml | None] = open_nvml,
    ) -> None:
        self._spec = spec
        self._targets = targets
        self._origin_s = origin_s
        self._exporters = [TargetSpec(name=url, url=url) for url in spec.gpu_urls]
        here = any(address_of(t.metrics_url or t.url).host in _LOOPBACK for t in targets)
        wanted = spec.local_gpus if spec.local_gpus is not None else here
        self._nvml = nvml() if wanted else None

    async def watch(self, note: Callable[[list[GaugeSample]], None]) -> None:
        """Tell all gauges every `every_s`; what does not answer is left out."""
        while True:
            began_s = time.monotonic()
            note(await self.once())
            await asyncio.sleep(max(0.0, began_s + self._spec.every_s - time.monotonic()))

    async def once(self) -> list[GaugeSample]:
        """All gauges now."""
        loads, gpus = await asyncio.gather(
            asyncio.gather(*map(read_engine, self._targets)), self.gpus()
        )
        at_s = time.monotonic() - self._origin_s
        found = []
        for target, load in zip(self._targets, loads, strict=True):
            if load is not None:
                found += engine_gauges(load, load.at_s - self._origin_s, target.name)
        for gpu in gpus:
            found += gpu_gauges(gpu, at_s)
        return found

    async def gpus(self) -> list[GpuReading]:
        """The GPUs here and those of the exporters."""
        pages = await asyncio.gather(*map(_exported, self._exporters))
        many = len(pages) > 1
        found = [
            msgspec.structs.replace(gpu, index=f"{number}.{gpu.index}") if many else gpu
            for number, page in enumerate(pages)
            for gpu in page
        ]
        local = [] if self._nvml is None else await asyncio.to_thread(self._nvml.read)
        return [*local, *found]


async def _exported(exporter: TargetSpec) -> list[GpuReading]:
    path = address_of(exporter.url).prefix or "/metrics"
    try:
        status, page = await get(exporter, path, timeout_s=_TIMEOUT_S)
    except OSError:
        return []
    return gpus_of_page(page) if status == 200 else []


def gpus_of_page(page: bytes) -> list[GpuReading]:
    """The GPUs of an exporter's page."""
    readings = Readings(page, NAMES)
    series = {name: [(r.labels, r.value) for r in readings.series(name)] for name in NAMES}
    return read_gpus(series)


def engine_gauges(load: EngineLoad, at_s: float, source: str) -> list[GaugeSample]:
    """What the engine told of itself, by the names of `EngineLoad`."""
    return _samples(load, _NOT_GAUGES, at_s, source)


def gpu_gauges(gpu: GpuReading, at_s: float) -> list[GaugeSample]:
    """What the GPU told of itself, by the names of `GpuReading`."""
    return _samples(gpu, _NOT_NUMBERS, at_s, f"{GPU}{gpu.index}")


def _samples(
    told: msgspec.Struct, left_out: Sequence[str], at_s: float, source: str
) -> list[GaugeSample]:
    pairs = ((name, getattr(told, name)) for name in told.__struct_fields__)
    return [
        GaugeSample(at_s, source, name, float(value))
        for name, value in pairs
        if name not in left_out and value is not None
    ]
