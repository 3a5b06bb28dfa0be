from math import ceil

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planner.placed_models import H100, QWEN3_8B, QWEN3_14B, QWEN3_32B, RTX_4090

from proa.domain.llm import LlmSpec
from proa.errors import FieldError, InputError
from proa.planner.fit.fit import fit
from proa.planner.fit.spec import FitSpec
from proa.planner.layout import LayoutSpec
from proa.planner.place.layouts import LayoutLimits
from proa.planner.place.need import Limit, NeedSpec
from proa.planner.place.placement import (
    PlacementSpec,
    best_placement,
    place,
    plan_replicas,
    smaller_refusals,
)

FOUR = LayoutLimits(gpus_per_server=4, servers=1)


def asked(
    llm: LlmSpec = QWEN3_14B,
    *,
    sessions: int = 24,
    context: int = 8192,
    speed: float | None = None,
    ttft: float | None = None,
) -> PlacementSpec:
    need = NeedSpec(
        sessions=sessions,
        input_tokens=context - 500,
        output_tokens=500,
        user_tokens_per_s=speed,
        ttft_p95_s=ttft,
    )
    return PlacementSpec(start=FitSpec(llm=llm, gpu=H100), need=need, layouts=FOUR)


NEEDS = st.builds(
    asked,
    st.sampled_from([QWEN3_8B, QWEN3_32B]),
    sessions=st.integers(1, 150),
    context=st.integers(1000, 40000),
    speed=st.none() | st.floats(5, 60),
    ttft=st.none() | st.floats(1, 30),
)


@settings(max_examples=10, deadline=None)
@given(spec=NEEDS)
def test_a_placement_truly_meets_the_need_and_nothing_smaller_does(spec: PlacementSpec) -> None:
    plan, need = place(spec), spec.need
    replicas = plan_replicas(spec)
    counts = [
        ceil(need.sessions / replica.limits.sessions) * replica.start.layout.gpus
        for replica in replicas
        if replica.limits.sessions
    ]
    assert plan.meets == bool(counts)
    assert plan.gpus == plan.replicas * plan.tensor_parallel * plan.pipeline_parallel
    if not plan.meets:
        return
    assert plan.gpus == min(counts)
    each = ceil(need.sessions / plan.replicas)
    layout = LayoutSpec(
        tensor_parallel=plan.tensor_parallel, pipeline_parallel=plan.pipeline_parallel
    )
    start = msgspec.structs.replace(spec.start, layout=layout, max_model_len=need.context_tokens)
    assert fit(start).max_concurrency >= each
    assert plan.kv_cache_tokens >= plan.max_sessions * need.context_tokens
    assert plan.performance.user_tokens_per_s >= (need.user_tokens_per_s or 0) * (1 - 1e-9)
    assert need.ttft_p95_s is None or plan.performance.ttft_p95_s <= need.ttft_p95_s * 1.000001


@settings(max_examples=4, deadline=None)
@given(spec=NEEDS)
def test_more_gpus_never_promise_less(spec: PlacementSpec) -> None:
    carried = []
    for gpus in range(1, 8):
        try:
            carried.append(place(msgspec.structs.replace(spec, gpus=gpus)).max_sessions)
        except InputError:
            carried.append(0)
    assert carried == sorted(carried)


@pytest.mark.parametrize(
    ("spec", "binding"),
    [
        (asked(QWEN3_32B, context=32768), Limit.MEMORY),
        (asked(speed=80.0, context=1024), Limit.SPEED),
        (asked(speed=10.0, ttft=1.0), Limit.TTFT),
    ],
)
def test_it_says_what_binds(spec: PlacementSpec, binding: Limit) -> None:
    plan = place(spec)
    assert plan.meets
    assert plan.binding is binding


def test_two_gpus_are_not_one_large_one() -> None:
    spec = asked(QWEN3_32B)
    two = place(msgspec.structs.replace(spec, gpus=2, layouts=LayoutLimits(tensor_parallel=2)))
    large = msgspec.structs.replace(
        H100, memory_bytes=2 * H100.memory_bytes, usable_bytes=2 * H100.usable_bytes
    )
    one = place(msgspec.structs.replace(spec, start=FitSpec(llm=QWEN3_32B, gpu=large), gpus=1))
    assert two.kv_cache_tokens < one.kv_cache_tokens


def test_a_speed_that_no_layout_reaches_is_told_and_not_promised() -> None:
    plan = place(asked(QWEN3_32B, speed=1000.0))
    assert (plan.meets, plan.max_sessions, plan.binding) == (False, 0, Limit.SPEED)
    assert plan.tensor_parallel == 4


def test_a_model_that_fits_nowhere_is_refused_with_its_weights() -> None:
    spec = asked(QWEN3_32B)
    start, single = FitSpec(llm=QWEN3_32B, gpu=RTX_4090), LayoutLimits(tensor_parallel=1)
    with pytest.raises(FieldError, match=r"gpu = 'rtx-4090-24gb'.*weights take"):
        place(msgspec.structs.replace(spec, start=start, layouts=single, gpus=1))


def test_tensor_parallel_that_cannot_divide_is_refused() -> None:
    with pytest.raises(FieldError, match="tp = 5"):
        place(msgspec.structs.replace(asked(), layouts=LayoutLimits(tensor_parallel=5)))


def test_of_several_gpus_the_cheapest_that_meets_the_need() -> None:
    spec = asked(QWEN3_8B, sessions=4)
    small = msgspec.structs.replace(spec, start=FitSpec(llm=QWEN3_8B, gpu=RTX_4090))
    assert best_placement([spec, small]).gpu == "rtx-4090-24gb"
    unpriced = msgspec.structs.replace(H100, price=None)
    other = msgspec.structs.replace(spec, start=FitSpec(llm=QWEN3_8B, gpu=unpriced))
    assert best_placement([other, small]).gpus == 1
    with pytest.raises(InputError, match="no GPU"):
        best_placement([])


def test_fewer_gpus_are_refused_with_what_fails_there() -> None:
    spec = asked(QWEN3_32B, sessions=40)
    plan = place(spec)
    refused = list(smaller_refusals(plan_replicas(spec), spec.need, gpus=plan.gpus))
    assert refused
    assert all(gpus < plan.gpus and limit is Limit.MEMORY for gpus, _, limit in refused)


def test_servers_are_counted_with_whole_replicas_in_each() -> None:
    spec = msgspec.structs.replace(
        asked(QWEN3_32B, sessions=200), layouts=LayoutLimits(tensor_parallel=4)
    )
    plan = place(spec)
    assert (plan.replicas, plan.pipeline_parallel) == (2, 1)
    assert plan.servers == ceil(plan.replicas / 2)
