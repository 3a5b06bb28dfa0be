"""Rows of the user: added, put in place of shipped ones, or refused with their place."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proa.catalog.gpus import find_gpu
from proa.catalog.models import find_model
from proa.catalog.user_rows import Catalogue, catalogue_from_toml
from proa.domain.gpu import GpuSpec
from proa.domain.llm import WeightFormat
from proa.errors import ConfigError, InputError

OWN = """
[[gpus]]
id = "l40s-own-48gb"
like = "l40s"
usable_memory = "44.4 GiB"
tdp_w = 300
price = { amount = 8_900_000, currency = "KRW", date = "2026-11-02", source = "a quotation" }
aliases = ["ours"]

[[gpus]]
id = "h100-80gb"
price = { amount = 27000, currency = "USD", date = "2026-10-01", source = "a quotation" }

[[gpus]]
id = "npu-64gb"
vendor = "someone"
memory = "64 GiB"
memory_gb_per_s = 1200
tflops = { bf16 = 200, fp8 = 400 }
pcie_gb_per_s = 64
tdp_w = 250

[[models]]
id = "team/support-14b-awq"
like = "qwen3-14b"
quantization_config = { quant_method = "awq", bits = 4, group_size = 128 }
aliases = ["support"]

[[models]]
id = "team/small"
parameters = 1_000_000_000
[models.config]
model_type = "llama"
hidden_size = 2048
intermediate_size = 8192
num_hidden_layers = 16
num_attention_heads = 32
num_key_value_heads = 8
vocab_size = 32000
"""


PRICED = "[[gpus]]\nid = 'x-8gb'\nlike = 'h100'\n[gpus.price]\namount = 1\nsource = 's'"


@pytest.fixture(scope="module")
def own() -> Catalogue:
    return catalogue_from_toml(tomllib.loads(OWN), file="own.toml")


def test_a_gpu_like_another_takes_over_what_it_leaves_out(own: Catalogue) -> None:
    ours, shipped = own.find_gpu("l40s-own-48gb"), find_gpu("l40s-48gb")
    assert ours == own.find_gpu("OURS")
    assert ours.usable_bytes == int(44.4 * 2**30)
    assert (ours.flops, ours.memory_bytes_per_s) == (shipped.flops, shipped.memory_bytes_per_s)
    assert ours.tdp_w == 300
    assert ours.price is not None
    assert (ours.price.amount, ours.price.currency) == (8_900_000, "KRW")
    assert ours.source == "own.toml"
    assert type(ours) is GpuSpec


def test_a_row_with_the_id_of_a_shipped_one_is_put_in_its_place(own: Catalogue) -> None:
    priced = own.find_gpu("h100-80gb")
    assert priced.price is not None
    assert priced.usable_bytes == find_gpu("h100").usable_bytes
    assert find_gpu("h100-80gb").price != priced.price


def test_a_gpu_of_its_own_is_told_whole(own: Catalogue) -> None:
    npu = own.find_gpu("NPU-64GB")
    assert npu.memory_bytes == 64 * 2**30
    assert npu.usable_bytes == int(0.98 * 64 * 2**30)
    assert npu.flops == {"bf16": 200e12, "fp8": 400e12}
    assert npu.link_bytes_per_s is None


def test_models(own: Catalogue) -> None:
    support = own.find_model("support")
    assert support == own.find_model("Team/Support-14B-AWQ") == own.find_model("support-14b-awq")
    assert support.layers == find_model("Qwen/Qwen3-14B").layers
    assert support.quantization is not None
    assert support.quantization.format is WeightFormat.INT4
    small = own.find_model("small")
    assert (small.layer_count, small.parameters, small.source) == (16, 10**9, "own.toml")


def test_what_is_not_in_the_file_is_found_as_ever(own: Catalogue) -> None:
    assert own.find_gpu("5090") == find_gpu("5090")
    assert own.find_model("qwen3-8b") == find_model("qwen3-8b")
    with pytest.raises(InputError, match="nearest: "):
        own.find_model("no-such-model")
    assert Catalogue().find_gpu("h200") == find_gpu("h200")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gpus = 3", "gpus = 3: accepted is tables, each begun with [[gpus]]"),
        ("models = [1]", "models[0] = 1: accepted is tables, each begun with [[models]]"),
        ("[[gpus]]\nid = 'H100'", "gpus[0].id = 'H100': accepted is family-memory in lower case"),
        ("[[gpus]]\nlike = 'h100'", "gpus[0].id = None: accepted is a text that is not empty"),
        ("[[gpus]]\nid = 'x-8gb'\nlike = 'y'", "gpus[0].like = 'y': accepted is a GPU of the"),
        (
            "[[gpus]]\nid = 'x-8gb'\ncolour = 1",
            "gpus[0].colour = 1: accepted is one of the keys id",
        ),
        ("[[gpus]]\nid = 'x-8gb'", "gpus[0].memory = None: accepted is a size above 0"),
        ("[[gpus]]\nid = 'x-8gb'\nmemory = '8G'", "gpus[0].memory = '8G': accepted is a whole"),
        (
            "[[gpus]]\nid = 'x-8gb'\nmemory = '8 GiB'\nusable_memory = '9 GiB'",
            "gpus[0].usable_memory = '9 GiB': accepted is no more than the memory",
        ),
        (
            "[[gpus]]\nid = 'x-8gb'\nlike = 'h100'\ntdp_w = 0",
            "gpus[0].tdp_w = 0: accepted is a num",
        ),
        (
            "[[gpus]]\nid = 'x-8gb'\nlike = 'h100'\ntflops = { bf15 = 1 }",
            "gpus[0].tflops.bf15 = 1: accepted is one of the keys bf16, fp8, int8, fp4",
        ),
        (
            "[[gpus]]\nid = 'x-8gb'\nlike = 'h100'\ntflops = 1",
            "gpus[0].tflops = 1: accepted is a t",
        ),
        (
            "[[gpus]]\nid = 'x-8gb'\nlike = 'h100'\nmemory_is_shared = 'no'",
            "gpus[0].memory_is_shared = 'no': accepted is true or false",
        ),
        (
            f"{PRICED}\ncurrency = 'USD'\ndate = 'now'",
            "gpus[0].price.date = 'now': accepted is a day, as",
        ),
        (
            f"{PRICED}\ncurrency = 'won'\ndate = '2026-01-31'",
            "gpus[0].price.currency = 'won': accepted is three capital letters",
        ),
        (
            "[[gpus]]\nid = 'x-8gb'\nlike = 'h100'\naliases = 'a'",
            "gpus[0].aliases = 'a': accepted is a list of texts",
        ),
        ("[[models]]\nid = 'm'", "models[0].config = None: accepted is either `config`"),
        (
            "[[models]]\nid = 'm'\nlike = 'zzz'",
            "models[0].like = 'zzz': accepted is a model of the",
        ),
        (
            "[[models]]\nid = 'm'\nlike = 'qwen3-8b'\nparameters = 1.5",
            "models[0].parameters = 1.5: accepted is a whole number",
        ),
        (
            "[[models]]\nid = 'm'\nlike = 'qwen3-8b'\nquantization_config = { quant_method = 'x' }",
            "`quantization_config.quant_method` = 'x': accepted is fp8",
        ),
        (
            "[[models]]\nid = 'm'\nconfig = { hidden_size = 8 }",
            "m: config.json lacks `num_hidden_layers`",
        ),
    ],
)
def test_wrong_rows_are_refused_with_their_place(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        catalogue_from_toml(tomllib.loads(text), file="own.toml")
    assert str(refused.value).startswith("own.toml: ")
    assert told in str(refused.value)


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "like", "memory", "tflops", "config"]), inner)
        ),
        max_leaves=6,
    )
)
def test_whatever_stands_there_is_read_or_refused(value: object) -> None:
    documents: list[dict[str, object]] = [
        {name: rows} for name in ("gpus", "models") for rows in (value, [value])
    ]
    assert [told for told in map(refusal, documents) if not told.startswith("f: ")] == []


def refusal(document: dict[str, object]) -> str:
    try:
        catalogue_from_toml(document, file="f")
    except InputError as refused:
        return str(refused)
    return "f: read"
