"""GPUs of another machine, from the metrics page of its exporter.

Source: names of NVIDIA's dcgm-exporter (etc/default-counters.csv), of nvidia_gpu_exporter
(METRICS.md) and of AMD's device-metrics-exporter (docs/configuration/metricslist.md); their
units differ, so each name has its factor.
"""

from collections.abc import Mapping, Sequence

from proa.telemetry.gpu import GpuReading

_MIB, _MB = 2.0**20, 1e6
_NAMES: dict[str, tuple[str, float]] = {
    "DCGM_FI_DEV_FB_USED": ("memory_bytes", _MIB),
    "DCGM_FI_DEV_FB_TOTAL": ("memory_total_bytes", _MIB),
    "DCGM_FI_DEV_GPU_UTIL": ("kernel_share", 0.01),
    "DCGM_FI_PROF_SM_ACTIVE": ("sm_share", 1.0),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", 1.0),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": ("power_limit_w", 1.0),
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": ("power_limit_w", 1.0),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c", 1.0),
    "nvidia_smi_memory_used_bytes": ("memory_bytes", 1.0),
    "nvidia_smi_memory_total_bytes": ("memory_total_bytes", 1.0),
    "nvidia_smi_utilization_gpu_ratio": ("kernel_share", 1.0),
    "nvidia_smi_power_draw_watts": ("power_w", 1.0),
    "nvidia_smi_enforced_power_limit_watts": ("power_limit_w", 1.0),
    "nvidia_smi_temperature_gpu": ("temperature_c", 1.0),
    "gpu_used_vram": ("memory_bytes", _MB),
    "gpu_total_vram": ("memory_total_bytes", _MB),
    "gpu_gfx_activity": ("kernel_share", 0.01),
    "gpu_package_power": ("power_w", 1.0),
    "gpu_average_package_power": ("power_w", 1.0),
    "gpu_junction_temperature": ("temperature_c", 1.0),
}
_DCGM_FREE = "DCGM_FI_DEV_FB_FREE"
_INDEX_LABELS = ("gpu", "gpu_id", "index", "uuid", "UUID")
_NAME_LABELS = ("modelName", "card_model", "name")
_DRIVER_LABELS = ("DCGM_FI_DRIVER_VERSION", "driver_version")
NAMES = (*_NAMES, _DCGM_FREE)
"""All that is read, of whichever exporter."""


def read_gpus(series: Mapping[str, Sequence[tuple[Mapping[str, str], float]]]) -> list[GpuReading]:
    """The GPUs of a page by their index; empty where it is no page of a known exporter.

    `series` has the labels and values of each of `NAMES`. Several processes or instances of
    one GPU are one row: the greatest value counts.
    """
    values: dict[str, dict[str, float]] = {}
    labels_of: dict[str, dict[str, str]] = {}
    for metric, readings in series.items():
        field, factor = _NAMES.get(metric, ("free_bytes", _MIB))
        for labels, value in readings:
            index = _first(labels, _INDEX_LABELS)
            told = values.setdefault(index, {})
            told[field] = max(value * factor, told.get(field, 0.0))
            labels_of.setdefault(index, {}).update(labels)
    return [_gpu(index, values[index], labels_of[index]) for index in sorted(values)]


def _gpu(index: str, told: dict[str, float], labels: Mapping[str, str]) -> GpuReading:
    free = told.pop("free_bytes", None)
    if free is not None and "memory_bytes" in told:
        told.setdefault("memory_total_bytes", told["memory_bytes"] + free)
    return GpuReading(
        index=index,
        name=_first(labels, _NAME_LABELS),
        driver=_first(labels, _DRIVER_LABELS),
        **told,
    )


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
