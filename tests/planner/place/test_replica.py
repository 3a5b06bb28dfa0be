from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planner.placed_models import H100, QWEN3_14B, RTX_4090

from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec
from proa.planner.place.need import Limit, NeedSpec
from proa.planner.place.replica import (
    ReplicaLimits,
    most_that,
    plan_replica,
    replica_performance,
)

NEED = NeedSpec(sessions=1, input_tokens=7692, output_tokens=500)


@given(limit=st.integers(0, 300), most=st.integers(0, 300))
def test_the_search_finds_the_last_count_that_holds(limit: int, most: int) -> None:
    asked: list[int] = []

    def holds(count: int) -> bool:
        asked.append(count)
        return count <= limit

    assert most_that(holds, most) == min(limit, most)
    assert len(asked) <= 9


def test_what_fails_first_binds_and_memory_before_others() -> None:
    assert ReplicaLimits(memory_sessions=9).binding is Limit.MEMORY
    assert ReplicaLimits(memory_sessions=9, speed_sessions=9).binding is Limit.MEMORY
    limits = ReplicaLimits(memory_sessions=9, speed_sessions=8, ttft_sessions=7)
    assert (limits.binding, limits.sessions) == (Limit.TTFT, 7)


@settings(max_examples=15, deadline=None)
@given(
    speed=st.floats(5, 120),
    ttft=st.floats(0.3, 30),
    margin=st.sampled_from([0.0, 0.1, 0.3]),
    tensor_parallel=st.sampled_from([1, 2]),
)
def test_at_the_limits_everything_holds_and_one_session_more_breaks_what_binds(
    speed: float, ttft: float, margin: float, tensor_parallel: int
) -> None:
    need = NeedSpec(
        sessions=1,
        input_tokens=7692,
        output_tokens=500,
        user_tokens_per_s=speed,
        ttft_p95_s=ttft,
    )
    layout = LayoutSpec(tensor_parallel=tensor_parallel)
    start = FitSpec(llm=QWEN3_14B, gpu=H100, layout=layout)
    replica = plan_replica(start, need, margin=margin)
    most = replica.limits.sessions
    if most:
        held = replica_performance(replica, need, sessions=most)
        assert held.user_tokens_per_s * (1 - margin) >= speed * (1 - 1e-9)
        assert held.ttft_p95_s <= ttft * (1 - margin) * (1 + 1e-9)
        assert most <= replica.memory.max_concurrency * (1 - margin)
    if replica.limits.binding is not Limit.MEMORY:
        over = replica_performance(replica, need, sessions=most + 1)
        slow = over.user_tokens_per_s * (1 - margin) < speed
        assert slow or over.ttft_p95_s > ttft * (1 - margin)


def test_the_cache_is_asked_of_the_engine_at_the_needs_context() -> None:
    start = FitSpec(llm=QWEN3_14B, gpu=H100)
    replica = plan_replica(start, NEED)
    asked = fit(FitSpec(llm=QWEN3_14B, gpu=H100, max_model_len=8192))
    assert replica.memory == asked
    assert replica.limits.memory_sessions == int(asked.max_concurrency)


def test_a_model_that_does_not_fit_holds_nothing() -> None:
    replica = plan_replica(FitSpec(llm=QWEN3_14B, gpu=RTX_4090), NEED)
    assert replica.limits == ReplicaLimits(memory_sessions=0)
