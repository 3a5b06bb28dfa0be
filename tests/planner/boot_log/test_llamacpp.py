"""llama.cpp's and ollama's logs; lines are excerpts of public logs."""

from proa.planner.boot_log.facts import GIB, MIB, BootLog, TokenMeaning
from proa.planner.boot_log.read import read_boot_log

# numbers of ollama/ollama#16480: gpt-oss-120b, 131072 cells x 2 sequences x 18 layers
GPT_OSS = """\
llama_model_loader: loaded meta data with 35 key-value pairs and 687 tensors from /models/gpt-oss-120b.gguf (version GGUF V3 (latest))
print_info: arch             = gpt-oss
print_info: file type   = MXFP4 MoE
print_info: general.name     = Gpt Oss 120B
load_tensors: offloaded 37/37 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   586.82 MiB
load_tensors:        ROCm0 model buffer size = 60281.25 MiB
llama_context: n_seq_max     = 2
llama_context: n_ctx         = 262144
llama_context: n_ctx_per_seq = 131072
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 512
llama_kv_cache_unified_iswa: creating non-SWA KV cache, size = 131072 cells
llama_kv_cache_unified:      ROCm0 KV buffer size =  9216.00 MiB
llama_kv_cache_unified: size = 9216.00 MiB (131072 cells,  18 layers,  2/2 seqs), K (f16): 4608.00 MiB, V (f16): 4608.00 MiB
llama_kv_cache_unified_iswa: creating     SWA KV cache, size = 1280 cells
llama_kv_cache_unified:      ROCm0 KV buffer size =    90.00 MiB
llama_kv_cache_unified: size =   90.00 MiB (  1280 cells,  18 layers,  2/2 seqs), K (f16):   45.00 MiB, V (f16):   45.00 MiB
llama_context:      ROCm0 compute buffer size =   819.26 MiB
llama_context:  ROCm_Host compute buffer size =   264.05 MiB
"""  # noqa: E501

OLLAMA = """\
time=2025-09-11T00:42:50.484+02:00 level=INFO source=backend.go:310 msg="model weights" device=ROCm0 size="59.8 GiB"
time=2025-09-11T00:42:50.484+02:00 level=INFO source=backend.go:315 msg="model weights" device=CPU size="1.1 GiB"
time=2025-09-11T00:42:50.484+02:00 level=INFO source=backend.go:321 msg="kv cache" device=ROCm0 size="450.0 MiB"
time=2025-09-11T00:42:50.484+02:00 level=INFO source=backend.go:332 msg="compute graph" device=ROCm0 size="121.8 MiB"
"""  # noqa: E501

OLD = """\
0.00.025.301 I llm_load_tensors: offloaded 33/33 layers to GPU
0.00.025.301 I llm_load_tensors:        CUDA0 buffer size =  4095.05 MiB
0.00.025.315 I llm_load_tensors:          CPU buffer size =   281.81 MiB
0.00.037.866 I llama_new_context_with_model: n_ctx         = 4096
0.00.040.340 I llama_kv_cache_init:      CUDA0 KV buffer size =   512.00 MiB
0.00.042.207 I llama_new_context_with_model:      CUDA0 compute buffer size =   258.50 MiB
"""

TABLE = """\
llama_kv_cache:      CUDA0 KV buffer size =   408.00 MiB
llama_memory_breakdown_print: | memory breakdown [MiB]    | total   free    self   model   context   compute    unaccounted |
llama_memory_breakdown_print: |   - CUDA0 (RTX 3090 Ti)   | 24563 = 1886 + (18233 = 17524 +     408 +     300) +        4444 |
"""  # noqa: E501


def read(text: str) -> BootLog:
    return read_boot_log(text, name="boot.log")


def test_cells_windows_and_sequences() -> None:
    boot = read(GPT_OSS)
    assert (boot.engine, boot.architecture) == ("llamacpp", "gpt-oss")
    assert (boot.flags.model, boot.flags.quantization) == ("Gpt Oss 120B", "MXFP4 MoE")
    assert (boot.flags.max_model_len, boot.flags.max_num_seqs) == (131_072, 2)
    assert (boot.flags.kv_dtype, boot.flags.max_num_batched_tokens) == ("f16", 512)
    assert boot.kv_cache_bytes == 9306 * MIB
    assert (boot.kv_cache_tokens, boot.swa_tokens) == (262_144, 1280)
    assert boot.token_meaning is TokenMeaning.CELLS
    assert boot.weights_bytes == round(60281.25 * MIB)
    assert boot.host_weights_bytes == round(586.82 * MIB)
    assert boot.activation_bytes == round(819.26 * MIB)


def test_ollama_sums_up() -> None:
    boot = read(OLLAMA)
    assert (boot.weights_bytes, boot.host_weights_bytes) == (round(59.8 * GIB), round(1.1 * GIB))
    assert (boot.kv_cache_bytes, boot.activation_bytes) == (450 * MIB, round(121.8 * MIB))
    assert boot.kv_cache_tokens is None
    assert boot.flags.max_model_len is None


def test_older_wording() -> None:
    boot = read(OLD)
    assert (boot.weights_bytes, boot.host_weights_bytes) == (
        round(4095.05 * MIB),
        round(281.81 * MIB),
    )
    assert (boot.kv_cache_bytes, boot.flags.max_model_len) == (512 * MIB, 4096)


def test_the_start_that_is_only_reckoned_does_not_count() -> None:
    # A build of October 2026, SmolLM2-135M Q4_1 with -c 8192 -np 4 -ub 256 -lv 5.
    opening = "I llama_model_loader: loaded meta data with 33 key-value pairs from /m.gguf\n"
    context = "I llama_context: n_seq_max             = 4\nI llama_context: n_ctx_seq     = 2048\n"
    pool = (
        "I llama_kv_cache: size =  180.00 MiB (  2048 cells,  30 layers,  4/4 seqs), "
        "K (f16):   90.00 MiB, V (f16):   90.00 MiB\n"
    )
    reckoned = (
        f"0.00.159 {opening}0.00.703 I load_tensors:  CPU model buffer size =     0.00 MiB\n"
        f"0.00.718 {context}0.00.718 I llama_kv_cache:        CPU KV buffer size =     0.00 MiB\n"
        f"0.00.718 {pool}"
    )
    real = (
        f"0.00.829 {opening}0.01.585 I load_tensors: CPU_Mapped model buffer size =  92.10 MiB\n"
        f"0.01.606 {context}0.01.607 I llama_kv_cache:        CPU KV buffer size =   180.00 MiB\n"
        f"0.02.110 {pool}"
    )
    boot = read(reckoned + real)
    assert (boot.kv_cache_bytes, boot.host_weights_bytes) == (180 * MIB, round(92.1 * MIB))
    assert (boot.kv_cache_tokens, boot.flags.max_model_len) == (8192, 2048)
    only = read(reckoned)
    assert only.kv_cache_bytes is None
    assert only.kv_cache_tokens == 8192


def test_the_table_at_the_end_tells_the_card() -> None:
    boot = read(TABLE)
    assert (boot.gpu_name, boot.gpu_total_bytes) == ("RTX 3090 Ti", 24563 * MIB)


def test_the_card_that_is_used() -> None:
    boot = read(
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090)"
        " (0000:01:00.0) - 23885 MiB free\n"
        "llama_kv_cache:      CUDA0 KV buffer size =   408.00 MiB\n"
    )
    assert (boot.gpu_name, boot.gpu_free_bytes) == ("NVIDIA GeForce RTX 3090", 23885 * MIB)


def test_the_cache_of_a_cpu_engine_is_in_ram() -> None:
    boot = read(
        "load_tensors:   CPU_Mapped model buffer size =   100.00 MiB\n"
        "llama_kv_cache:        CPU KV buffer size =    22.50 MiB\n"
        "llama_kv_cache: size =   22.50 MiB (  1024 cells,  30 layers,  1/1 seqs), K (f16):"
        "   11.25 MiB, V (f16):   11.25 MiB\n"
    )
    assert boot.kv_cache_bytes == round(22.5 * MIB)
    assert boot.weights_bytes is None
    assert boot.host_weights_bytes == 100 * MIB
