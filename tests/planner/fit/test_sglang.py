"""SGLang's share of what is free before loading."""

import pytest
from tests.planner.engine_starts import QWQ_32B, start, windowed

from proa.domain.llm import LlmSpec
from proa.errors import InputError
from proa.planner.fit.sglang import SglangProfile, default_share, prefill_buckets
from proa.planner.fit.spec import FitPlan, MeasuredMemory

GIB = 2**30


def sglang(gpu: str, llm: LlmSpec = QWQ_32B, **flags: object) -> FitPlan:
    return SglangProfile().fit(start("sglang", gpu, llm, **flags))  # type: ignore[arg-type]


def test_a_log_of_four_l4_comes_out() -> None:
    # A public log of sglang 0.4.3 with QwQ-32B on 4 x L4: 21.63 GB free before, 6.09 after.
    gpu_bytes = round(22.03 * GIB)
    plan = sglang(
        "l4-24gb",
        tp=4,
        mem_fraction_static=0.85,
        measured=MeasuredMemory(
            gpu_bytes=gpu_bytes,
            non_torch_bytes=gpu_bytes - round(21.63 * GIB),
            weights_bytes=round((21.63 - 6.09) * GIB),
        ),
    )
    assert plan.kv_cache_tokens == pytest.approx(46_611, rel=0.0005)
    assert plan.kv_cache_bytes == pytest.approx(2.845 * GIB, rel=0.001)
    assert not plan.uncertain


def test_the_same_start_without_a_log_is_near_and_says_that_it_is_unsure() -> None:
    plan = sglang("l4-24gb", tp=4, mem_fraction_static=0.85)
    assert plan.uncertain
    assert plan.kv_cache_tokens == pytest.approx(46_611, rel=0.1)


@pytest.mark.parametrize(
    ("gpu_mib", "reserved", "share"),
    [(81_559, 10 * 1024, 0.874), (24_564, 512 + 6144 + 128 + 96, 0.720)],
)
def test_the_default_share(gpu_mib: float, reserved: float, share: float) -> None:
    # sglang 0.5.23, memory_hook.py: round((gpu - reserved) / gpu, 3)
    assert default_share(gpu_mib, reserved) == share


def test_prefill_sizes_that_are_captured() -> None:
    # generate_prefill_cuda_graph_batch_sizes of sglang 0.5.23
    assert [prefill_buckets(most) for most in (4, 32, 2048, 8192)] == [1, 8, 42, 58]


def test_windows_have_four_fifths_of_the_tokens() -> None:
    plan = sglang("h100-80gb", windowed(18, 128), max_model_len=8192)
    each = 8 * 128 * 2 * 18
    assert plan.kv_cache_tokens == int(plan.kv_cache_bytes / (each + 0.8 * each))
    assert plan.max_concurrency == plan.kv_cache_tokens / 8192


def test_a_larger_share_gives_the_cache_just_that() -> None:
    less = sglang("h100-80gb", mem_fraction_static=0.80)
    more = sglang("h100-80gb", mem_fraction_static=0.85)
    free = less.gpu_bytes - less.non_torch_bytes
    assert more.kv_cache_bytes - less.kv_cache_bytes == pytest.approx(0.05 * free, abs=2)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 88.0])
def test_no_share_of_a_gpu(share: float) -> None:
    with pytest.raises(InputError, match="mem_fraction_static"):
        sglang("h100-80gb", mem_fraction_static=share)


def test_what_does_not_fit() -> None:
    plan = sglang("rtx-4090-24gb")
    assert not plan.fits
    assert plan.kv_cache_bytes < 0
    assert plan.kv_cache_tokens == 0


def test_an_unknown_version_takes_the_nearest_and_says_so() -> None:
    assert any("version" in each.en for each in sglang("h100-80gb", engine_version="0.7.1").doubts)
    assert sglang("h100-80gb", engine_version="0.5.23").profile == "0.5"
