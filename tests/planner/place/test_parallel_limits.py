import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planner.placed_models import (
    QWEN3_8B,
    QWEN3_14B,
    QWEN3_30B_A3B,
    QWEN3_30B_A3B_FP8,
    QWEN3_NEXT,
)

from proa.domain.llm import LlmSpec, Quantization, WeightFormat
from proa.errors import FieldError
from proa.planner.place.parallel_limits import (
    allowed_tensor_parallel,
    check_parallel,
    tensor_parallel_faults,
)


def test_qwen3_14b_refuses_five_gpus_though_its_heads_divide() -> None:
    with pytest.raises(FieldError) as refused:
        check_parallel(QWEN3_14B, 5)
    assert refused.value.field == "tp"
    assert "1, 2, 4, 8" in str(refused.value)
    faults = tensor_parallel_faults(QWEN3_14B, 5)
    assert any("151,936 words" in fault for fault in faults)
    assert any("8 KV heads" in fault for fault in faults)
    assert not any("attention heads" in fault for fault in faults)


@pytest.mark.parametrize(
    ("llm", "sizes"),
    [
        (QWEN3_8B, (1, 2, 4, 8, 16, 32)),
        (QWEN3_14B, (1, 2, 4, 8)),
        (QWEN3_30B_A3B, (1, 2, 4, 8, 16, 32)),
        (QWEN3_30B_A3B_FP8, (1, 2)),
        (QWEN3_NEXT, (1, 2, 4, 8, 16)),
    ],
    ids=lambda value: value.id if isinstance(value, LlmSpec) else "",
)
def test_the_sizes_that_engines_start_with(llm: LlmSpec, sizes: tuple[int, ...]) -> None:
    assert allowed_tensor_parallel(llm, at_most=32) == sizes


def test_four_gpus_cut_a_block_of_an_fp8_expert_and_whole_experts_do_not() -> None:
    """768 / 4 = 192 is no multiple of 128: vLLM refuses Qwen3-30B-A3B-FP8 at TP4 without EP."""
    (fault,) = tensor_parallel_faults(QWEN3_30B_A3B_FP8, 4)
    assert "768 / 4 = 192" in fault
    assert tensor_parallel_faults(QWEN3_30B_A3B_FP8, 4, expert_parallel=True) == ()


def test_int4_groups_of_experts_shrink_to_32_and_mxfp4_is_padded() -> None:
    for format_, most in ((WeightFormat.INT4, 8), (WeightFormat.MXFP4, 32)):
        group = Quantization(method="any", format=format_, group_size=128)
        llm = msgspec.structs.replace(QWEN3_30B_A3B, quantization=group)
        assert max(allowed_tensor_parallel(llm, at_most=32)) == most


def test_int4_groups_of_a_dense_model_are_not_cut() -> None:
    """17,408 / 8 = 2,176 = 17 x 128; of 32-groups any size does."""
    sizes = []
    for group in (128, 256, 32):
        kept = Quantization(method="awq", format=WeightFormat.INT4, group_size=group)
        llm = msgspec.structs.replace(QWEN3_14B, quantization=kept)
        sizes.append(max(allowed_tensor_parallel(llm, at_most=8)))
    assert sizes == [8, 4, 8]


def test_kv_heads_are_replicated_above_their_number() -> None:
    assert tensor_parallel_faults(QWEN3_30B_A3B, 8) == ()


@pytest.mark.parametrize("stages", [0, 37])
def test_a_stage_needs_a_layer(stages: int) -> None:
    with pytest.raises(FieldError, match=r"pp = .*36 layers"):
        check_parallel(QWEN3_8B, 1, stages)


def test_a_dense_model_has_no_experts_to_spread() -> None:
    with pytest.raises(FieldError, match="no experts"):
        check_parallel(QWEN3_8B, 2, expert_parallel=True)


@given(size=st.integers(-3, 600))
@settings(max_examples=30)
def test_a_size_is_allowed_or_refused_with_those_that_are(size: int) -> None:
    if size in allowed_tensor_parallel(QWEN3_14B, at_most=600):
        check_parallel(QWEN3_14B, size)
    else:
        with pytest.raises(FieldError) as refused:
            check_parallel(QWEN3_14B, size)
        assert str(size) not in refused.value.accepted.split(" for ")[0].split(", ")
