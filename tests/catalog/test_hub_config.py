"""A hub config.json to a model: what each family keeps where, and clear errors."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proa.catalog.hub_config import llm_from_config
from proa.catalog.models import find_model
from proa.domain.llm import (
    DenseFeed,
    ExpertFeed,
    GroupedAttention,
    LatentAttention,
    LinearAttention,
    LlmSpec,
    NoAttention,
    NoFeed,
)
from proa.errors import InputError

LLAMA: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


def made(**changed: object) -> LlmSpec:
    return llm_from_config(LLAMA | changed, id="m", source="a test")


def windows(llm: LlmSpec) -> dict[int | None, int]:
    counted: dict[int | None, int] = {}
    for group in llm.layers:
        assert isinstance(group.attention, GroupedAttention)
        counted[group.attention.window] = counted.get(group.attention.window, 0) + group.count
    return counted


def test_a_plain_llama() -> None:
    llm = made()
    (group,) = llm.layers
    assert (llm.id, llm.source, llm.hidden, llm.vocab) == ("m", "a test", 4096, 128256)
    assert group.count == llm.layer_count == 32
    assert group.attention == GroupedAttention(heads=32, kv_heads=8, head_dim=128)
    assert group.feed == DenseFeed(intermediate=14336)
    assert not llm.tied_embeddings
    assert llm.quantization is None
    assert llm.notes == ()


@pytest.mark.parametrize(
    "key", ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"]
)
def test_a_missing_field_is_named(key: str) -> None:
    config = {name: value for name, value in LLAMA.items() if name != key}
    with pytest.raises(InputError, match=rf"^m: config.json lacks `{key}`"):
        llm_from_config(config, id="m")


@pytest.mark.parametrize("value", ["many", -1, True, 1.5])
def test_a_field_that_is_no_count_is_named_with_its_value(value: object) -> None:
    with pytest.raises(InputError, match=r"`num_hidden_layers` = .*: accepted is a whole number"):
        made(num_hidden_layers=value)


def test_a_model_without_layers_is_refused() -> None:
    with pytest.raises(InputError, match="`num_hidden_layers` = 0: accepted is 1 or more"):
        made(num_hidden_layers=0)


def test_an_unknown_architecture_is_taken_as_plain_and_says_so() -> None:
    llm = made(model_type="brandnew", architectures=["BrandNewForCausalLM"])
    assert llm.layers == made().layers
    (note,) = llm.notes
    assert "BrandNewForCausalLM is not known" in note.en
    assert "BrandNewForCausalLM" in note.ko


@pytest.mark.parametrize("name", ["text_config", "llm_config", "language_config"])
def test_the_language_model_may_be_nested(name: str) -> None:
    config = {"architectures": ["SomeVlm"], "model_type": "mistral3", name: LLAMA}
    llm = llm_from_config(config, id="m")
    assert llm.layers == made().layers
    assert llm.architecture == "SomeVlm"
    deeper = llm_from_config({"thinker_config": config}, id="m")
    assert deeper.layers == llm.layers


def test_a_vision_tower_counts_as_extra() -> None:
    tower = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27}
    llm = llm_from_config({"text_config": LLAMA, "vision_config": tower}, id="m")
    assert 4.0e8 < llm.extra_parameters < 4.5e8


@pytest.mark.parametrize(
    ("changed", "counted"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, {4096: 32}),
        ({"model_type": "mistral", "sliding_window": None}, {None: 32}),
        ({"model_type": "gemma2", "sliding_window": 4096}, {4096: 16, None: 16}),
        ({"model_type": "gemma3", "sliding_window": 1024}, {1024: 27, None: 5}),
        ({"model_type": "qwen2", "sliding_window": 32768}, {None: 32}),
        (
            {"model_type": "qwen2", "sliding_window": 9, "use_sliding_window": True,
             "max_window_layers": 28},
            {None: 28, 9: 4},
        ),
        (
            {"model_type": "exaone4", "sliding_window": 4096, "sliding_window_pattern": "LLLG"},
            {4096: 24, None: 8},
        ),
        ({"model_type": "llama4", "attention_chunk_size": 8192}, {8192: 24, None: 8}),
        ({"model_type": "phi3", "sliding_window": 262144}, {None: 32}),
        (
            {"model_type": "gpt_oss", "sliding_window": 128,
             "layer_types": ["sliding_attention", "full_attention"] * 16},
            {128: 16, None: 16},
        ),
        (
            {"model_type": "cohere2", "sliding_window": 64, "sliding_window_pattern": 8},
            {64: 28, None: 4},
        ),
    ],
)  # fmt: skip
def test_windows(changed: dict[str, object], counted: dict[int | None, int]) -> None:
    assert windows(made(**changed)) == counted


def test_a_list_shorter_than_the_model_is_refused() -> None:
    with pytest.raises(InputError, match="`layer_types` has 2 entries for 32 layers"):
        made(layer_types=["sliding_attention", "full_attention"])


def test_latent_attention_and_its_indexer() -> None:
    llm = find_model("deepseek-ai/DeepSeek-V3.2")
    dense, sparse = llm.layers
    assert (dense.count, sparse.count, llm.draft_layers) == (3, 58, 1)
    attention = sparse.attention
    assert isinstance(attention, LatentAttention)
    assert attention.kv_lora_rank + attention.rope_head_dim == 576
    assert (attention.index_heads, attention.index_head_dim, attention.index_top_k) == (
        64,
        128,
        2048,
    )
    assert sparse.feed == ExpertFeed(
        experts=256, experts_per_token=8, intermediate=2048, shared_intermediate=2048
    )
    assert dense.feed == DenseFeed(intermediate=18432)


def test_layers_may_share_an_indexer() -> None:
    counted = {
        group.attention.index_head_dim: group.count
        for group in find_model("zai-org/GLM-5.2").layers
        if isinstance(group.attention, LatentAttention) and isinstance(group.feed, ExpertFeed)
    }
    assert counted == {0: 57, 128: 18}


def test_hybrid_models_have_a_state_in_three_of_four_layers() -> None:
    linear, full = find_model("Qwen/Qwen3-Next-80B-A3B-Instruct").layers
    assert (linear.count, full.count) == (36, 12)
    assert linear.attention == LinearAttention(
        form="gated_delta", value_heads=32, key_heads=16, head_dim=128, state_dim=128,
        conv_kernel=4, conv_dim=8192,
    )  # fmt: skip
    assert isinstance(full.attention, GroupedAttention)
    assert full.attention.gated
    assert full.attention.kv_heads == 2


def test_nemotron_keeps_its_parts_in_layers_of_their_own() -> None:
    kinds = {
        (type(group.attention), type(group.feed)): group.count
        for group in find_model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16").layers
    }
    assert kinds == {
        (LinearAttention, NoFeed): 23,
        (NoAttention, ExpertFeed): 23,
        (GroupedAttention, NoFeed): 6,
    }
    with pytest.raises(InputError, match=r"has 'x': accepted is M, \*, -, E"):
        made(model_type="nemotron_h", hybrid_override_pattern="x")


def test_models_found_by_search_lack_attention_in_some_layers() -> None:
    llm = find_model("nvidia/Llama-3_3-Nemotron-Super-49B-v1")
    without = sum(g.count for g in llm.layers if isinstance(g.attention, NoAttention))
    assert (llm.layer_count, without) == (80, 31)


def test_llama_4_has_experts_in_every_other_layer_and_chunks_in_three_of_four() -> None:
    llm = find_model("meta-llama/Llama-4-Maverick-17B-128E-Instruct")
    experts = [group for group in llm.layers if isinstance(group.feed, ExpertFeed)]
    assert sum(group.count for group in experts) == 24
    assert windows(llm) == {8192: 36, None: 12}
    assert {
        group.feed.shared_intermediate for group in experts if isinstance(group.feed, ExpertFeed)
    } == {8192}


def test_gemma_4_has_other_heads_where_it_looks_back_all_the_way() -> None:
    window, full = find_model("google/gemma-4-31B-it").layers
    assert isinstance(window.attention, GroupedAttention)
    assert isinstance(full.attention, GroupedAttention)
    assert (window.attention.kv_heads, window.attention.head_dim) == (16, 256)
    assert (full.attention.kv_heads, full.attention.head_dim) == (4, 512)
    assert full.attention.value_is_key
    assert not window.attention.value_is_key


def test_the_last_layers_of_gemma_4_e_models_hold_no_cache() -> None:
    llm = find_model("google/gemma-4-E4B-it")
    owners = sum(
        group.count
        for group in llm.layers
        if isinstance(group.attention, GroupedAttention) and not group.attention.shares_kv
    )
    assert owners == 24
    assert llm.extra_parameters > 2.8e9


def test_deepseek_v4_attends_to_its_rows_directly() -> None:
    ratios = {
        group.attention.compress_ratio: group.count
        for group in find_model("deepseek-ai/DeepSeek-V4-Flash").layers
        if isinstance(group.attention, LatentAttention) and group.attention.direct
    }
    assert ratios == {0: 2, 4: 21, 128: 20}


@pytest.mark.parametrize(
    ("step", "start", "experts"),
    [(1, 0, 32), (2, 0, 16), (1, 3, 29)],
)
def test_which_layers_have_experts(step: int, start: int, experts: int) -> None:
    llm = made(
        model_type="qwen3_moe",
        num_experts=64,
        num_experts_per_tok=4,
        moe_intermediate_size=512,
        decoder_sparse_step=step,
        first_k_dense_replace=start,
    )
    sparse = [group for group in llm.layers if isinstance(group.feed, ExpertFeed)]
    assert sum(group.count for group in sparse) == experts


def test_names_of_other_families() -> None:
    config = {
        "model_type": "exaone", "hidden_size": 64, "intermediate_size": 128, "num_layers": 2,
        "num_attention_heads": 4, "vocab_size": 10,
    }  # fmt: skip
    llm = llm_from_config(config, id="m")
    assert llm.layers[0].attention == GroupedAttention(heads=4, kv_heads=4, head_dim=16)
    gpt = {"model_type": "gpt_bigcode", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 9}
    assert llm_from_config(gpt, id="m").layers[0].feed == DenseFeed(intermediate=256, gated=False)


@given(
    layers=st.integers(1, 120),
    window=st.integers(1, 4096),
    kind=st.sampled_from(["llama", "gemma3", "mistral", "llama4", "qwen3", "exaone4", "unheard"]),
)
def test_groups_hold_every_layer_once(layers: int, window: int, kind: str) -> None:
    llm = made(model_type=kind, num_hidden_layers=layers, sliding_window=window)
    assert llm.layer_count == layers
    assert len(set(map(msgspec.json.encode, llm.layers))) == len(llm.layers)
