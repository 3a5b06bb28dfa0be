"""What was not measured is said."""

from proa.catalog.gpus import find_gpu
from proa.planner.layout import LayoutSpec
from proa.planner.speed.doubts import speed_doubts

H100, PRO = find_gpu("h100-80gb"), find_gpu("rtx-pro-6000-96gb")
ONE, TWO = LayoutSpec(), LayoutSpec(tensor_parallel=2)


def doubts(*, engine: str = "vllm", layout: LayoutSpec = ONE, link: str | None = None) -> list[str]:
    return [each.en for each in speed_doubts(engine, H100, layout, (link, None))]


def test_of_what_was_measured_there_is_no_doubt() -> None:
    assert doubts() == doubts(layout=TWO) == doubts(layout=TWO, link="nvlink") == []


def test_engines_gpus_and_links_that_were_not_measured() -> None:
    assert "tgi" in doubts(engine="tgi")[0]
    assert "NVLink" in doubts(layout=TWO, link="10gbe")[0]
    assert [text.en.split()[0] for text in speed_doubts("vllm", PRO, TWO, (None,))] == [
        "no",
        "only",
    ]
    assert len(list(speed_doubts("vllm", PRO, ONE, (None,)))) == 1


def test_more_than_a_server() -> None:
    wide = LayoutSpec(tensor_parallel=8, pipeline_parallel=2)
    assert "more than 8" in doubts(layout=wide)[0]
