"""Where the constants of speed were not measured, and a load run says more than they do."""

from collections.abc import Iterator

from proa.domain.gpu import GpuSpec
from proa.planner.layout import LayoutSpec
from proa.planner.speed.efficiency import MEASURED_ENGINES, MEASURED_FAMILIES
from proa.planner.text import Text

_MEASURED_GPUS = 8


def speed_doubts(
    engine: str, gpu: GpuSpec, layout: LayoutSpec, links: tuple[str | None, ...]
) -> Iterator[Text]:
    """Reasons why the constants of `efficiency` may not hold; `links` as they were asked for."""
    if engine not in MEASURED_ENGINES:
        yield _ENGINE.fill(engine=engine)
    if gpu.family not in MEASURED_FAMILIES:
        yield _GPU.fill(gpu=gpu.name)
    if layout.gpus > _MEASURED_GPUS:
        yield _LARGE.fill(gpus=_MEASURED_GPUS)
    if layout.gpus > 1 and (set(links) - {None, "nvlink"} or gpu.link_bytes_per_s is None):
        yield _LINK


_ENGINE = Text(
    "{engine}의 속도를 측정한 자료가 없어 vLLM의 상수를 썼습니다",
    "no speed of {engine} was measured: vLLM's constants are taken",
)
_GPU = Text(
    "{gpu} 계열에 맞춘 상수가 없어 Hopper의 것을 썼습니다",
    "no constants were fitted to GPUs like {gpu}: Hopper's are taken",
)
_LARGE = Text(
    "GPU {gpus}장을 넘는 복제본은 측정한 자료가 드뭅니다",
    "replicas of more than {gpus} GPUs were measured seldom",
)
_LINK = Text(
    "측정한 링크는 NVLink뿐이며, 다른 링크는 속도와 지연으로 계산했습니다",
    "only NVLink was measured: other links follow their rate and latency",
)
