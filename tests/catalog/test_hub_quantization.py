"""Quantised checkpoints: which format, how many numbers to a scale, and what was left whole."""

import pytest

from proa.catalog.hub_config import llm_from_config
from proa.catalog.models import find_model
from proa.domain.llm import Quantization, WeightFormat
from proa.errors import InputError

BASE: dict[str, object] = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
    "num_attention_heads": 4, "vocab_size": 100,
}  # fmt: skip


def quantised(table: dict[str, object], **more: object) -> Quantization:
    found = llm_from_config(BASE | more | {"quantization_config": table}, id="m").quantization
    assert found is not None
    return found


def compressed(**weights: object) -> dict[str, object]:
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights}},
        "ignore": ["lm_head"],
    }


@pytest.mark.parametrize(
    ("table", "told", "group", "block"),
    [
        ({"quant_method": "fp8"}, WeightFormat.FP8, None, None),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, WeightFormat.FP8, 16384, 128),
        ({"quant_method": "fbgemm_fp8"}, WeightFormat.FP8, None, None),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, WeightFormat.INT4, 128, None),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, WeightFormat.INT8, None, None),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 32}, WeightFormat.INT4, 32, None),
        ({"quant_method": "mxfp4"}, WeightFormat.MXFP4, 32, None),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, WeightFormat.FP8, None, None),
        ({"quant_algo": "NVFP4", "group_size": 16}, WeightFormat.NVFP4, 16, None),
        (compressed(num_bits=8, type="float", strategy="channel"), WeightFormat.FP8, None, None),
        (compressed(num_bits=8, type="int", strategy="channel"), WeightFormat.INT8, None, None),
        (compressed(num_bits=4, type="int", group_size=128), WeightFormat.INT4, 128, None),
        (compressed(num_bits=4, type="float", group_size=16), WeightFormat.NVFP4, 16, None),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, WeightFormat.INT4, 64, None),
    ],
)  # fmt: skip
def test_formats(
    table: dict[str, object], told: WeightFormat, group: int | None, block: int | None
) -> None:
    found = quantised(table)
    assert (found.format, found.group_size, found.block) == (told, group, block)
    assert not found.head


def test_scales_for_the_cache() -> None:
    asked: dict[str, object] = {
        "quant_method": "modelopt",
        "quant_algo": "FP8",
        "kv_cache_quant_algo": "FP8",
    }
    assert quantised(asked).kv_cache is WeightFormat.FP8
    scheme = compressed(num_bits=8, type="float") | {"kv_cache_scheme": {"num_bits": 8}}
    assert quantised(scheme).kv_cache is WeightFormat.FP8
    assert quantised({"quant_method": "fp8"}).kv_cache is None


def test_a_method_that_is_not_known_is_named() -> None:
    with pytest.raises(InputError, match="quant_method` = 'magic': accepted is fp8, fbgemm_fp8"):
        quantised({"quant_method": "magic"})
    with pytest.raises(InputError, match="`quant_algo` = 'FP3': accepted is FP8"):
        quantised({"quant_method": "modelopt", "quant_algo": "FP3"})
    with pytest.raises(InputError, match="weights of 3 bits: accepted is 4 or 8"):
        quantised({"quant_method": "gptq", "bits": 3})


def test_the_file_beside_config_json_goes_first() -> None:
    beside = {"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}
    found = llm_from_config(BASE, id="m", quant_config=beside).quantization
    assert found is not None
    assert (found.method, found.format) == ("modelopt", WeightFormat.NVFP4)


@pytest.mark.parametrize(
    ("ignored", "whole"),
    [
        (["lm_head"], set()),
        (["re:.*self_attn.*"], {"attention"}),
        (["model.layers.0.self_attn.q_proj"], set()),
        ([f"model.layers.{at}.self_attn*" for at in range(4)], {"attention"}),
        (["re:.*shared_experts.*"], {"shared_experts"}),
        (["re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], {"dense_feed"}),
        (["re:.*linear_attn.*"], {"linear_attention"}),
        (["model.layers.1.mlp.gate", "re:.*norm.*", "re:.*visual.*", "re:.*router.*"], set()),
        (["*.attn.*", "*.ffn.shared_experts.*", "head", "mtp.*"], {"attention", "shared_experts"}),
    ],
)
def test_what_was_left_whole(ignored: list[str], whole: set[str]) -> None:
    found = quantised(compressed(num_bits=8, type="float") | {"ignore": ignored})
    parts = ("attention", "linear_attention", "shared_experts", "dense_feed")
    assert {part for part in parts if not getattr(found, part)} == whole


@pytest.mark.parametrize(
    ("name", "told", "rest", "attention", "shared"),
    [
        ("openai/gpt-oss-120b", WeightFormat.MXFP4, None, False, True),
        ("moonshotai/Kimi-K2.5", WeightFormat.INT4, None, False, False),
        ("deepseek-ai/DeepSeek-R1", WeightFormat.FP8, None, True, True),
        ("deepseek-ai/DeepSeek-V4-Flash", WeightFormat.MXFP4, WeightFormat.FP8, True, True),
        ("nvidia/Qwen3.6-27B-NVFP4", WeightFormat.NVFP4, WeightFormat.FP8, True, True),
        ("nvidia/Kimi-K2.6-NVFP4", WeightFormat.NVFP4, None, False, False),
        ("Qwen/Qwen3-32B-AWQ", WeightFormat.INT4, None, True, True),
    ],
)
def test_checkpoints_of_the_hub(
    name: str, told: WeightFormat, rest: WeightFormat | None, attention: bool, shared: bool
) -> None:
    found = find_model(name).quantization
    assert found is not None
    assert (found.format, found.rest) == (told, rest)
    assert (found.attention, found.shared_experts, found.head) == (attention, shared, False)


def test_the_way_out_of_attention_may_be_quantised_alone() -> None:
    found = find_model("nvidia/DeepSeek-V3.1-NVFP4").quantization
    assert found is not None
    assert not found.attention
    assert found.attention_output
