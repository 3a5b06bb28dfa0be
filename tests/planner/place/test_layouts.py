import pytest
from tests.planner.placed_models import QWEN3_8B, QWEN3_14B, QWEN3_30B_A3B_FP8

from proa.errors import FieldError
from proa.planner.layout import LayoutSpec
from proa.planner.place.layouts import LayoutLimits, candidate_layouts, links_of, servers_of


def shapes(engine: str, limits: LayoutLimits) -> set[tuple[int, int]]:
    found = candidate_layouts(QWEN3_8B, engine, limits)
    return {(each.tensor_parallel, each.pipeline_parallel) for each in found}


def test_within_one_server_every_size_that_divides_and_the_stages_beside_it() -> None:
    assert shapes("vllm", LayoutLimits(gpus_per_server=4, servers=1)) == {
        (1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (4, 1),
    }  # fmt: skip


def test_a_replica_of_two_servers_fills_them() -> None:
    beyond = {each for each in shapes("vllm", LayoutLimits(servers=2)) if each[0] * each[1] > 8}
    assert beyond == {(8, 2)}


@pytest.mark.parametrize(("engine", "most"), [("llamacpp", (1, 4)), ("tgi", (4, 1))])
def test_engines_that_split_in_one_way_only(engine: str, most: tuple[int, int]) -> None:
    found = shapes(engine, LayoutLimits(gpus_per_server=4, servers=1))
    assert (max(tensor for tensor, _ in found), max(stages for _, stages in found)) == most


def test_whole_experts_allow_sizes_that_slices_do_not() -> None:
    found = candidate_layouts(QWEN3_30B_A3B_FP8, "vllm", LayoutLimits(servers=1))
    sizes = {(each.tensor_parallel, each.expert_parallel) for each in found}
    assert sizes == {(1, False), (2, False), (2, True), (4, True), (8, True)}


def test_what_was_asked_is_taken_even_beyond_a_server() -> None:
    limits = LayoutLimits(tensor_parallel=4, pipeline_parallel=3, gpus_per_server=4)
    assert candidate_layouts(QWEN3_8B, "vllm", limits) == (
        LayoutSpec(tensor_parallel=4, pipeline_parallel=3),
    )


def test_what_no_engine_starts_with_is_refused() -> None:
    with pytest.raises(FieldError, match="tp = 5"):
        candidate_layouts(QWEN3_14B, "vllm", LayoutLimits(tensor_parallel=5))
    with pytest.raises(FieldError, match="servers = 0"):
        LayoutLimits(servers=0)


def test_links_are_the_servers_own_only_where_a_replica_leaves_one() -> None:
    limits = LayoutLimits(server_link="100gbe")
    inside, across = (
        LayoutSpec(tensor_parallel=8),
        LayoutSpec(tensor_parallel=8, pipeline_parallel=2),
    )
    wide = LayoutSpec(tensor_parallel=16)
    assert links_of(inside, limits, "pcie") == ("pcie", None)
    assert links_of(across, limits, None) == (None, "100gbe")
    assert links_of(wide, limits, None) == ("100gbe", "100gbe")
    assert [servers_of(each, 8) for each in (inside, across, wide)] == [1, 2, 2]
