"""llama.cpp's buffers against what it logged."""

import msgspec
import pytest
from tests.planner.engine_starts import start, windowed
from tests.planner.models import DEEPSEEK_R1, LLAMA_70B, QWEN3_8B

from proa.domain.llm import Quantization, WeightFormat
from proa.errors import InputError
from proa.planner.fit.llamacpp import LlamaCppProfile, cache_bytes, compute_bytes
from proa.planner.layout import LayoutSpec
from proa.planner.memory.gguf import gguf_quantization, gguf_weights_bytes

MIB = 2**20


@pytest.mark.parametrize(
    ("slots", "ubatch", "mib"),
    [
        (2, 1024, 9216 + 90),  # ollama/ollama#16480: gpt-oss-120b, 131072 cells, SWA 1280
        (1, 512, 4608 + 27),  # 768 cells of a window of 128: ggml-org/llama.cpp, CANN log
    ],
)
def test_windows_have_cells_of_their_own(slots: int, ubatch: int, mib: float) -> None:
    spec = start(
        "llamacpp",
        "h100-80gb",
        windowed(18, 128),
        max_model_len=131_072,
        max_num_seqs=slots,
        max_num_batched_tokens=ubatch,
    )
    assert cache_bytes(spec) == mib * MIB


def test_latent_attention_keeps_one_vector() -> None:
    spec = start("llamacpp", "h100-80gb", DEEPSEEK_R1, max_model_len=32_768, max_num_seqs=1)
    assert cache_bytes(spec) == 2196 * MIB


def test_the_compute_buffer_holds_logits() -> None:
    # Llama 3 8B logs 258.50 MiB with ubatch 512.
    llm = msgspec.structs.replace(QWEN3_8B, vocab=128_256)
    assert compute_bytes(start("llamacpp", "rtx-3090-24gb", llm)) == round(258.5 * MIB)


def test_it_fits_where_the_sum_does() -> None:
    fitting = LlamaCppProfile().fit(
        start("llamacpp", "rtx-3090-24gb", max_model_len=8192, max_num_seqs=4)
    )
    assert fitting.fits
    assert (fitting.max_concurrency, fitting.kv_cache_tokens) == (4.0, 32_768)
    assert fitting.kv_cache_bytes == 32_768 * 147_456
    longer = LlamaCppProfile().fit(
        start("llamacpp", "rtx-3090-24gb", max_model_len=32_768, max_num_seqs=4)
    )
    assert not longer.fits
    assert longer.requested_bytes > longer.gpu_bytes


def test_layers_are_split_and_tensors_are_not() -> None:
    with pytest.raises(InputError, match="pipeline_parallel"):
        LlamaCppProfile().fit(start("llamacpp", "h100-80gb", tp=2))
    spec = start("llamacpp", "h100-80gb", LLAMA_70B, max_model_len=8192)
    halves = msgspec.structs.replace(spec, layout=LayoutSpec(pipeline_parallel=2))
    assert cache_bytes(halves) * 2 == cache_bytes(spec)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("q4_k_m", 4.6, 5.1), ("Q8_0", 8.49, 8.51), ("f16", 16, 16)]
)
def test_a_gguf_name_has_its_bits(name: str, low: float, high: float) -> None:
    llm = msgspec.structs.replace(QWEN3_8B, quantization=gguf_quantization(name))
    size = gguf_weights_bytes(llm, LayoutSpec())
    plain = gguf_weights_bytes(
        msgspec.structs.replace(QWEN3_8B, quantization=gguf_quantization("bf16")), LayoutSpec()
    )
    assert size is not None
    assert plain is not None
    assert low <= 16 * size / plain <= high


def test_other_formats_are_no_gguf() -> None:
    assert gguf_quantization("awq") is None
    awq = Quantization(method="awq", format=WeightFormat.INT4)
    llm = msgspec.structs.replace(QWEN3_8B, quantization=awq)
    assert gguf_weights_bytes(llm, LayoutSpec()) is None


def test_a_margin_is_kept_for_what_files_differ_in() -> None:
    llm = msgspec.structs.replace(LLAMA_70B, quantization=gguf_quantization("q4_k_m"))
    spec = start("llamacpp", "rtx-a6000-48gb", llm, max_model_len=4096, max_num_seqs=1)
    near = LlamaCppProfile().fit(spec)
    taken = near.requested_bytes + round(0.01 * near.gpu_bytes) + round(0.06 * near.weights_bytes)
    for more, fits in ((-1024, True), (1024, False)):
        room = msgspec.structs.replace(spec, taken_bytes=near.gpu_bytes - taken + more)
        assert LlamaCppProfile().fit(room).fits is fits
