"""An engine under load: closed and open loop."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.planner.speed.performance import PerformanceSpec, engine_of
from proa.planner.speed.serving_formula import Load, _log, added_s, closed_loop, open_loop

ENGINE = engine_of(
    PerformanceSpec(
        llm=find_model("Qwen/Qwen3-8B"),
        gpu=find_gpu("h100-80gb"),
        input_tokens=1000,
        output_tokens=200,
        users=1.0,
    )
)


def load(demand: float, places: float = 4096.0) -> Load:
    return Load(demand, places, 1000.0, 1000.0, 200.0)


@given(st.floats(1, 20))
def test_the_logarithm_of_the_tail(value: float) -> None:
    assert _log(value) == pytest.approx(math.log(value), abs=1e-4)


def test_a_prompts_kernels_are_launched_one_by_one() -> None:
    quick = ENGINE._replace(serve=ENGINE.serve._replace(launch_s=0.0))
    slow, fast = closed_loop(ENGINE, load(4.0)), closed_loop(quick, load(4.0))
    launches_s = ENGINE.work.kernels * ENGINE.serve.launch_s
    assert slow.ttft_s - fast.ttft_s == pytest.approx(launches_s)
    assert slow.tpot_s == fast.tpot_s


@given(st.floats(1, 500), st.floats(1, 500))
def test_more_users_wait_longer(few: float, many: float) -> None:
    few, many = sorted((few, many))
    less, more = closed_loop(ENGINE, load(few)), closed_loop(ENGINE, load(many))
    assert less.tpot_s <= more.tpot_s
    assert less.ttft_s <= more.ttft_s <= more.ttft_p95_s


def test_one_user_waits_for_nobody() -> None:
    alone = closed_loop(ENGINE, load(1.0))
    assert alone.tpot_s == pytest.approx(alone.step_s)
    assert alone.ttft_p95_s == pytest.approx(alone.ttft_s)


def test_users_beyond_the_places_wait_for_a_whole_answer() -> None:
    short, free = closed_loop(ENGINE, load(20.0, 10.0)), closed_loop(ENGINE, load(10.0))
    answer_s = free.ttft_s + 200 * free.tpot_s
    assert short.ttft_s == pytest.approx(free.ttft_s + answer_s)


@given(st.floats(0.01, 10))
def test_littles_law_holds_in_the_open_loop(rate: float) -> None:
    served = open_loop(ENGINE, load(rate))
    assert served.running == pytest.approx(rate * 200 * served.tpot_s, rel=0.02)


def test_the_wait_is_pollaczek_khinchines() -> None:
    served, light = open_loop(ENGINE, load(15.0)), open_loop(ENGINE, load(0.001))
    prompt_s = added_s(ENGINE, load(15.0), served.running)
    wait_s = served.busy * prompt_s / (2 * (1 - served.busy))
    steps = ENGINE.serve.first_steps * (served.tpot_s - light.tpot_s)
    assert served.ttft_s - light.ttft_s - steps == pytest.approx(wait_s, rel=0.02)


def test_the_tail_of_a_busy_engine_is_longer() -> None:
    served = open_loop(ENGINE, load(20.0))
    assert served.busy > 0.05
    assert served.ttft_p95_s > served.ttft_s
