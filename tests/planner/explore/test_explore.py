from itertools import product

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planner.placed_models import (
    H100,
    QWEN3_8B,
    QWEN3_14B,
    QWEN3_30B_A3B,
    QWEN3_NEXT,
    RTX_4090,
)

from proa.domain.llm import LlmSpec
from proa.errors import FieldError
from proa.planner.explore.explore import ExplorePoint, explore
from proa.planner.explore.spec import ExploreSpec, replica_kinds
from proa.planner.explore.table import replica_table, served_at
from proa.planner.fit.spec import FitSpec
from proa.planner.memory.kv_cache import KvDtype
from proa.planner.memory.weights import with_precision
from proa.planner.place.layouts import LayoutLimits, links_of
from proa.planner.place.need import NeedSpec
from proa.planner.place.replica import performance_spec, plan_replica
from proa.planner.speed.performance import performance

LIMITS = LayoutLimits(gpus_per_server=2, servers=1)


def space(
    variants: tuple[LlmSpec, ...],
    *,
    speed: float | None = 30.0,
    ttft: float | None = 5.0,
    contexts: tuple[int, ...] = (8192,),
    margin: float = 0.0,
    engines: tuple[str, ...] = ("vllm",),
) -> ExploreSpec:
    need = NeedSpec(
        sessions=24,
        input_tokens=7692,
        output_tokens=500,
        user_tokens_per_s=speed,
        ttft_p95_s=ttft,
    )
    return ExploreSpec(
        variants=variants,
        gpus=(H100, RTX_4090),
        need=need,
        contexts=contexts,
        engines=engines,
        layouts=LIMITS,
        most_gpus=16,
        margin=margin,
    )


@settings(max_examples=10, deadline=None)
@given(
    llm=st.sampled_from([QWEN3_8B, QWEN3_30B_A3B, QWEN3_NEXT]),
    precision=st.sampled_from(["bf16", "fp8", "int4"]),
    speed=st.none() | st.floats(5, 150),
    ttft=st.none() | st.floats(0.2, 60),
    contexts=st.lists(st.integers(600, 40000), min_size=1, max_size=3).map(tuple),
    margin=st.sampled_from([0.0, 0.1]),
    engines=st.sampled_from([("vllm",), ("sglang",), ("llamacpp",)]),
    sessions=st.integers(1, 300),
)
def test_columns_say_what_one_replica_after_the_other_says(
    llm: LlmSpec,
    precision: str,
    speed: float | None,
    ttft: float | None,
    contexts: tuple[int, ...],
    margin: float,
    engines: tuple[str, ...],
    sessions: int,
) -> None:
    spec = space(
        (with_precision(llm, precision),),
        speed=speed,
        ttft=ttft,
        contexts=contexts,
        margin=margin,
        engines=engines,
    )
    table = replica_table(spec)
    row = {kind_key(kind): at for at, kind in enumerate(table.kinds)}
    for kind, (context, need) in product(replica_kinds(spec), enumerate(table.needs)):
        links = links_of(kind.layout, LIMITS, None)
        limits = plan_replica(kind, need, links=links, margin=margin).limits
        at = row.get(kind_key(kind))
        if at is None:
            assert limits.memory_sessions == 0
            continue
        memory = int(table.memory_sessions[at, context])
        assert memory == limits.memory_sessions
        told = (table.speed_sessions[at, context], table.ttft_sessions[at, context])
        wanted = (limits.speed_sessions, limits.ttft_sessions)
        assert told == tuple(memory if each is None else each for each in wanted)
        if memory:
            assert table.binding(at, context) is limits.binding
            where = (np.array([at]), np.array([context]))
            served = served_at(table, where, np.array([sessions]))
            asked = performance_spec(kind, need, links)
            users, places = float(sessions), float(memory)
            alone = performance(msgspec.structs.replace(asked, users=users, places=places))
            assert served.tpot_s[0] == pytest.approx(alone.tpot_s, rel=1e-9)
            assert served.ttft_p95_s[0] == pytest.approx(alone.ttft_p95_s, rel=1e-9)


def kind_key(kind: FitSpec) -> tuple[object, ...]:
    return (kind.llm, kind.gpu.id, kind.layout, kind.kv_dtype, kind.engine)


VARIANTS = (QWEN3_14B, with_precision(QWEN3_14B, "fp8"))


def test_every_point_of_the_front_meets_the_need_by_the_scalar_functions() -> None:
    spec = space(VARIANTS, contexts=(8192, 16384))
    plan = explore(spec)
    assert {point.context_tokens for point in plan.points} == {8192, 16384}
    assert plan.met <= plan.walked
    for point in plan.points:
        kind = kind_of(spec, point)
        (need,) = [n for n in spec.needs() if n.context_tokens == point.context_tokens]
        limits = plan_replica(kind, need, links=links_of(kind.layout, LIMITS, None)).limits
        assert point.max_sessions == point.replicas * limits.sessions >= 24
        assert point.headroom == pytest.approx(point.max_sessions / 24 - 1)
        assert point.binding is limits.binding
        assert point.gpus == point.replicas * kind.layout.gpus <= 16
        assert point.user_tokens_per_s >= 30


def kind_of(spec: ExploreSpec, point: ExplorePoint) -> FitSpec:
    (kind,) = [
        each
        for each in replica_kinds(spec)
        if (each.gpu.id, each.engine, each.kv_dtype.value)
        == (point.gpu, point.engine, point.kv_dtype)
        and each.layout.tensor_parallel == point.tensor_parallel
        and each.layout.pipeline_parallel == point.pipeline_parallel
        and (each.llm.quantization is None) == (point.weights == "bf16")
    ]
    return kind


def test_no_point_is_beaten_in_everything_and_each_measure_has_its_best() -> None:
    points = explore(space(VARIANTS)).points
    assert len(points) >= 3
    figures = [
        (p.price or np.inf, p.power_w, -p.user_tokens_per_s, -min(p.headroom, 1.0)) for p in points
    ]
    for left, right in product(figures, repeat=2):
        assert not all(a < b for a, b in zip(left, right, strict=True))
    assert points[0].why.en.startswith("the lowest price")
    assert all(point.why.ko and point.why.en for point in points)
    named = {name for point in points for name in point.best_in}
    assert named == {"price", "power", "speed", "headroom"}
    assert "price" in points[0].best_in
    assert max(point.headroom for point in points) >= 1


def test_a_chip_that_cannot_is_not_tried() -> None:
    ampere = msgspec.structs.replace(H100, id="a100-80gb", flops={"bf16": 312e12, "int8": 624e12})
    apple = msgspec.structs.replace(H100, id="m3-ultra-512gb", vendor="apple")
    spec = msgspec.structs.replace(space(VARIANTS, engines=("vllm",)), gpus=(ampere, apple))
    kinds = list(replica_kinds(spec))
    assert {kind.gpu.id for kind in kinds} == {"a100-80gb"}
    assert {kind.kv_dtype for kind in kinds} == {KvDtype.AUTO}


def test_prices_in_another_currency_are_not_compared_and_given_ones_are() -> None:
    spec = msgspec.structs.replace(
        space(VARIANTS), currency="KRW", gpu_prices={"rtx-4090-24gb": 3_000_000.0}
    )
    points = explore(spec).points
    prices = {point.gpu: point.price for point in points}
    assert prices.get("h100-80gb") is None
    assert all(p.price == 3e6 * p.gpus for p in points if p.gpu == "rtx-4090-24gb")


def test_nothing_meets_a_need_beyond_every_chip() -> None:
    plan = explore(space(VARIANTS, speed=5000.0))
    assert (plan.met, plan.points) == (0, ())
    assert plan.walked > 0


@pytest.mark.parametrize(
    "wrong", [{"gpus": ()}, {"replicas": (0,)}, {"contexts": (400,)}, {"variants": ()}]
)
def test_a_space_that_cannot_be_walked_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(FieldError):
        explore(msgspec.structs.replace(space(VARIANTS), **wrong))
