"""The speed of one engine under a load."""

import msgspec
import pytest

from proa.domain.gpu import GpuSpec
from proa.domain.llm import DenseFeed, GroupedAttention, LayerGroup, LlmSpec
from proa.errors import InputError
from proa.planner.layout import LayoutSpec
from proa.planner.speed.calibration import SpeedCalibration
from proa.planner.speed.performance import PerformanceSpec, performance

EIGHT = LlmSpec(
    id="eight",
    architecture="LlamaForCausalLM",
    hidden=4096,
    vocab=128256,
    layers=(
        LayerGroup(
            count=32,
            attention=GroupedAttention(heads=32, kv_heads=8, head_dim=128),
            feed=DenseFeed(intermediate=14336),
        ),
    ),
)
H100 = GpuSpec(
    id="h100-80gb",
    name="NVIDIA H100 SXM",
    vendor="nvidia",
    family="hopper",
    memory_bytes=80_000_000_000,
    usable_bytes=85_030_000_000,
    memory_bytes_per_s=3.35e12,
    flops={"bf16": 989e12, "fp8": 1979e12},
    pcie_bytes_per_s=64e9,
    tdp_w=700.0,
    link_bytes_per_s=450e9,
    source="NVIDIA H100 data sheet",
)
SPEC = PerformanceSpec(llm=EIGHT, gpu=H100, input_tokens=1000, output_tokens=200, users=8.0)


def change(**fields: object) -> PerformanceSpec:
    return msgspec.structs.replace(SPEC, **fields)


def test_no_step_beats_the_memory() -> None:
    weights_s = 2 * 7.5e9 / H100.memory_bytes_per_s
    assert performance(SPEC).itl_s > weights_s


def test_more_users_wait_longer_and_get_more_together() -> None:
    few, many = performance(SPEC), performance(change(users=64.0))
    assert many.tpot_s > few.tpot_s
    assert many.ttft_s > few.ttft_s
    assert many.aggregate_tokens_per_s > few.aggregate_tokens_per_s


def test_users_beyond_the_places_wait_for_a_turn() -> None:
    free, short = performance(SPEC), performance(change(places=4.0))
    assert short.running == 4
    assert short.ttft_s > 200 * short.tpot_s > 5 * free.ttft_s


def test_cached_tokens_are_not_read_again() -> None:
    assert performance(change(cached_tokens=900)).ttft_s < performance(SPEC).ttft_s


def test_an_engine_that_gathers_tokens_sends_the_first_so_many_steps_later() -> None:
    at_once, gathered = performance(SPEC), performance(change(held_steps=9.0))
    assert gathered.ttft_s == pytest.approx(at_once.ttft_s + 9 * at_once.tpot_s)
    assert gathered.tpot_s == at_once.tpot_s


def test_answers_of_one_length_end_together_where_prompts_go_first() -> None:
    prompts_first, mixed = (
        [performance(change(engine=engine, length_spread=part)).ttft_s for part in (0.0, 0.2)]
        for engine in ("sglang", "vllm")
    )
    assert prompts_first[0] > 1.2 * prompts_first[1]
    assert mixed[0] == mixed[1]


def test_an_open_load_agrees_with_the_closed_one_of_the_same_rate() -> None:
    closed = performance(SPEC)
    opened = performance(change(users=None, requests_per_s=closed.requests_per_s))
    assert opened.stable
    assert opened.tpot_s == pytest.approx(closed.tpot_s, rel=0.1)
    assert opened.ttft_p95_s >= opened.ttft_s


def test_an_open_load_that_is_too_much_is_not_stable_and_not_served() -> None:
    plan = performance(change(users=None, requests_per_s=1e4))
    assert not plan.stable
    assert plan.requests_per_s < 1e3


def test_a_load_run_settles_all_doubts() -> None:
    assert performance(SPEC).doubts == ()
    assert len(performance(change(engine="tgi")).doubts) == 1
    assert performance(change(engine="tgi", calibration=SpeedCalibration())).doubts == ()


def test_the_line_meets_the_step_that_it_was_drawn_through() -> None:
    plan = performance(SPEC)
    assert plan.step.step_s(8, 8 * 1100) == pytest.approx(plan.itl_s, rel=1e-6)


def test_two_gpus_are_faster_than_one_and_not_twice_as_fast() -> None:
    one, two = performance(SPEC), performance(change(layout=LayoutSpec(tensor_parallel=2)))
    assert one.itl_s / 2 < two.itl_s < one.itl_s


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"users": None}, "exactly one"),
        ({"requests_per_s": 1.0}, "exactly one"),
        ({"users": 0.0}, "users = 0"),
        ({"input_tokens": 0}, "input_tokens = 0"),
        ({"cached_tokens": 1000}, "cached_tokens = 1000"),
        ({"length_spread": 1.5}, "length_spread = 1.5"),
        ({"held_steps": -1}, "held_steps = -1"),
        ({"link": "string"}, "link = 'string'"),
    ],
)
def test_bad_input_is_named(fields: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        performance(change(**fields))
