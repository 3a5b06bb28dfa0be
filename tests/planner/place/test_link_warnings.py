import msgspec
from tests.planner.placed_models import H100, QWEN3_14B, QWEN3_32B, RTX_4090

from proa.planner.fit.spec import FitSpec
from proa.planner.place.layouts import LayoutLimits
from proa.planner.place.link_warnings import link_warnings
from proa.planner.place.need import NeedSpec
from proa.planner.place.placement import PlacementSpec, place

NEED = NeedSpec(sessions=8, input_tokens=3500, output_tokens=500, user_tokens_per_s=20.0)


def warned(spec: PlacementSpec) -> list[str]:
    return [text.en for text in link_warnings(spec, place(spec))]


def split(link: str, tensor_parallel: int = 2) -> PlacementSpec:
    return PlacementSpec(
        start=FitSpec(llm=QWEN3_14B, gpu=H100),
        need=NEED,
        gpus=tensor_parallel,
        link=link,
        layouts=LayoutLimits(tensor_parallel=tensor_parallel),
    )


def test_tensor_parallel_over_ethernet_loses_to_one_gpu_and_to_copies_with_the_numbers() -> None:
    fewer, copies = warned(split("1gbe"))
    assert "Over 1gbe, TP2 on 2 GPUs" in fewer
    assert "TP1 on 1 gives" in fewer
    assert "2 replicas of TP1" in copies
    slow, fast = (float(part.split(" tok/s")[0].split()[-1]) for part in fewer.split(";"))
    assert fast > 2 * slow


def test_a_split_over_nvlink_is_not_warned_of() -> None:
    assert warned(split("nvlink")) == []


def test_one_gpu_has_no_link_to_lose_over() -> None:
    spec = msgspec.structs.replace(split("1gbe"), layouts=LayoutLimits(), gpus=1)
    assert warned(spec) == []


def test_nothing_is_compared_where_only_the_split_holds_the_model() -> None:
    spec = PlacementSpec(
        start=FitSpec(llm=QWEN3_32B, gpu=RTX_4090),
        need=msgspec.structs.replace(NEED, sessions=1),
        gpus=4,
        link="10gbe",
        layouts=LayoutLimits(tensor_parallel=4),
    )
    assert warned(spec) == []
