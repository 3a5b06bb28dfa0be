import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planner.placed_models import H100, QWEN3_8B, QWEN3_32B, RTX_4090

from proa.errors import FieldError, InputError
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec
from proa.planner.place.layouts import LayoutLimits
from proa.planner.place.need import Limit, NeedSpec
from proa.planner.place.placement import PlacementSpec
from proa.planner.place.replica import plan_replica, replica_performance
from proa.planner.place.reverse import PromisePoint, ReverseSpec, reverse

NEED = NeedSpec(
    sessions=24, input_tokens=7692, output_tokens=500, user_tokens_per_s=30.0, ttft_p95_s=5.0
)
PLACEMENT = PlacementSpec(
    start=FitSpec(llm=QWEN3_8B, gpu=H100),
    need=NEED,
    gpus=2,
    margin=0.1,
    layouts=LayoutLimits(gpus_per_server=4, servers=1),
)


def asked(contexts: tuple[int, ...] = (8192, 32768), **changes: object) -> ReverseSpec:
    placement = msgspec.structs.replace(PLACEMENT, **changes)
    return ReverseSpec(placement=placement, contexts=contexts)


def kept(point: PromisePoint, margin: float) -> None:
    """The promise holds by the scalar functions, with the margin still there."""
    layout = LayoutSpec(
        tensor_parallel=point.tensor_parallel, pipeline_parallel=point.pipeline_parallel
    )
    need = msgspec.structs.replace(NEED, input_tokens=point.context_tokens - 500)
    start = msgspec.structs.replace(PLACEMENT.start, layout=layout)
    replica = plan_replica(start, need)
    each = -(-point.sessions // point.replicas)
    assert each <= replica.memory.max_concurrency * (1 - margin)
    truth = replica_performance(replica, need, sessions=each)
    assert point.user_tokens_per_s <= truth.user_tokens_per_s * (1 - margin) * 1.000001
    assert point.ttft_p95_s >= truth.ttft_p95_s / (1 - margin) * 0.999999


def test_promises_hold_with_their_margin_and_meet_what_was_asked() -> None:
    plan = reverse(asked())
    assert [point.context_tokens for point in plan.promises] == [8192, 32768]
    for point in plan.promises:
        kept(point, 0.1)
        assert point.user_tokens_per_s >= 30 * (1 - 1e-9)
        assert point.ttft_p95_s <= 5 * (1 + 1e-9)
        assert isinstance(point.binding, Limit)
    assert plan.promises[0].sessions > plan.promises[1].sessions


def test_the_frontier_holds_and_no_point_gives_all_that_another_does() -> None:
    plan = reverse(asked())
    assert 3 < len(plan.frontier) <= 30
    for point in plan.frontier:
        kept(point, 0.1)
    for left in plan.frontier:
        for right in plan.frontier:
            assert left is right or not (
                left.sessions >= right.sessions
                and left.context_tokens >= right.context_tokens
                and left.user_tokens_per_s >= right.user_tokens_per_s
                and left.ttft_p95_s <= right.ttft_p95_s
            )


@settings(max_examples=4, deadline=None)
@given(gpus=st.integers(1, 4), margin=st.sampled_from([0.0, 0.2]))
def test_one_gpu_more_or_a_smaller_margin_never_promises_less(gpus: int, margin: float) -> None:
    few = reverse(asked(gpus=gpus, margin=margin)).promises
    more = reverse(asked(gpus=gpus + 1, margin=margin)).promises
    bold = reverse(asked(gpus=gpus, margin=0.0)).promises
    for better in (more, bold):
        counts = {point.context_tokens: point.sessions for point in better}
        assert all(counts[point.context_tokens] >= point.sessions for point in few)


def test_contexts_beyond_the_model_or_its_room_are_left_out() -> None:
    assert {p.context_tokens for p in reverse(asked((8192, 262144))).frontier} == {8192}
    with pytest.raises(FieldError, match="contexts"):
        reverse(asked((262144,)))


def test_a_speed_that_is_out_of_reach_leaves_the_frontier_and_no_promise() -> None:
    need = msgspec.structs.replace(NEED, user_tokens_per_s=5000.0)
    plan = reverse(asked(need=need))
    assert plan.promises == ()
    assert plan.frontier


def test_a_model_that_does_not_fit_promises_nothing() -> None:
    with pytest.raises(InputError, match="weights take"):
        reverse(asked(start=FitSpec(llm=QWEN3_32B, gpu=RTX_4090)))


def test_the_count_must_be_given() -> None:
    with pytest.raises(FieldError, match="gpus"):
        asked(gpus=None)
