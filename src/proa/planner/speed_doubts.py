"""Where the constants of speed were not measured, and a load run says more than they do."""

from collections.abc import Iterator

from proa.domain.gpu import GpuSpec
from proa.planner.efficiency import MEASURED_ENGINES, MEASURED_FAMILIES
from proa.planner.layout import LayoutSpec

_MEASURED_GPUS = 8


def speed_doubts(
    engine: str, gpu: GpuSpec, layout: LayoutSpec, links: tuple[str | None, ...]
) -> Iterator[str]:
    """Reasons why the constants of `efficiency` may not hold; `links` as they were asked for."""
    if engine not in MEASURED_ENGINES:
        yield f"no speed of {engine} was measured: vLLM's constants are taken"
    if gpu.family not in MEASURED_FAMILIES:
        yield f"no constants were fitted to GPUs like {gpu.name}: Hopper's are taken"
    if layout.gpus > _MEASURED_GPUS:
        yield f"replicas of more than {_MEASURED_GPUS} GPUs were measured seldom"
    if layout.gpus > 1 and (set(links) - {None, "nvlink"} or gpu.link_bytes_per_s is None):
        yield "only NVLink was measured: other links follow their rate and latency"
