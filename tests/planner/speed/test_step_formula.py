"""The arithmetic of a pass: limits, growth, and the same answers for arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.planner.layout import LayoutSpec
from proa.planner.speed.performance import PerformanceSpec, engine_of
from proa.planner.speed.serving_formula import Engine, Load, closed_loop, open_loop, prefill_s
from proa.planner.speed.step_formula import (
    added_prompt_s,
    decode_s,
    larger,
    matrices_s,
    prompt_s,
    roof,
    smaller,
    touched_share,
)


def engine(model: str = "openai/gpt-oss-120b", tensor_parallel: int = 1) -> Engine:
    return engine_of(
        PerformanceSpec(
            llm=find_model(model),
            gpu=find_gpu("h100-80gb"),
            layout=LayoutSpec(tensor_parallel=tensor_parallel),
            input_tokens=1000,
            output_tokens=100,
            users=1.0,
        )
    )


ENGINES = [engine(), engine("Qwen/Qwen3-8B"), engine("deepseek-ai/DeepSeek-V3", 8)]
COUNTS = st.floats(1, 2000)


@given(left=st.floats(0, 1e6), right=st.floats(0, 1e6))
def test_the_lesser_and_the_greater_without_a_branch(left: float, right: float) -> None:
    assert smaller(left, right) == pytest.approx(min(left, right), abs=1e-9)
    assert larger(left, right) == pytest.approx(max(left, right), abs=1e-9)


@given(left=st.floats(1e-6, 1), right=st.floats(1e-6, 1))
def test_a_roof_lies_above_both_limits_and_below_their_sum(left: float, right: float) -> None:
    assert max(left, right) * (1 - 1e-9) <= roof(left, right) <= left + right


def test_experts_that_are_reached() -> None:
    assert touched_share(8 / 256, 1) == pytest.approx(8 / 256)
    assert touched_share(8 / 256, 64) == pytest.approx(0.869, abs=1e-3)
    assert touched_share(0.0, 64) == 0


@given(st.sampled_from(ENGINES), COUNTS, COUNTS, st.floats(1, 1e5))
def test_more_takes_longer(one: Engine, few: float, many: float, context: float) -> None:
    few, many = sorted((few, many))
    work, pace, _ = one
    assert decode_s(work, pace, few, context) <= decode_s(work, pace, many, context)
    assert decode_s(work, pace, few, context) <= decode_s(work, pace, few, context * 2)
    assert prompt_s(work, pace, 0.0, few) <= prompt_s(work, pace, 0.0, many)


@given(st.sampled_from(ENGINES), COUNTS, st.floats(1, 8192))
def test_a_prompt_in_a_step_costs_less_than_one_alone(
    one: Engine, sequences: float, tokens: float
) -> None:
    work, pace, _ = one
    assert added_prompt_s(work, pace, sequences, (0.0, tokens)) <= prompt_s(
        work, pace, 0.0, tokens
    ) * (1 + 1e-9)


def test_no_pass_reads_weights_faster_than_memory() -> None:
    for work, pace, _ in ENGINES:
        assert matrices_s(work, pace, 1e4) > work.dense_read_s + 0.9 * work.expert_read_s


@given(COUNTS, st.floats(1, 1e4), st.floats(1, 1e4), st.floats(1, 500))
def test_arrays_give_what_floats_give(
    demand: float, tokens_in: float, tokens_out: float, places: float
) -> None:
    stacked = Engine(*(type(part[0])(*np.array(part).T) for part in zip(*ENGINES, strict=True)))
    for serve, scale in ((closed_loop, 1.0), (open_loop, 1e-3)):
        load = Load(demand * scale, places, tokens_in, tokens_in, tokens_out)
        arrays = serve(stacked, load)
        for at, one in enumerate(ENGINES):
            scalars = serve(one, load)
            for name, value in scalars._asdict().items():
                found = np.broadcast_to(getattr(arrays, name), len(ENGINES))[at]
                assert found == pytest.approx(value, rel=1e-9), name


def test_chunks_cost_their_passes() -> None:
    one = ENGINES[1]
    load = Load(1.0, 1.0, 16000.0, 16000.0, 100.0)
    small = one._replace(serve=one.serve._replace(chunk_tokens=1000.0))
    assert prefill_s(small, load) > prefill_s(one, load)
