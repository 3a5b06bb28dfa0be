"""SGLang's logs; lines are excerpts of public logs, "GB" in them is GiB."""

from proa.planner.boot_log.facts import GIB, BootLog, TokenMeaning
from proa.planner.boot_log.read import read_boot_log

# numbers of a public log of one RTX 4060 Ti; wording of sglang 0.4.9
ONE_GPU = """\
[2025-08-08 03:34:30] server_args=ServerArgs(model_path='Qwen/Qwen3-0.6B', tokenizer_path='Qwen/Qwen3-0.6B', context_length=None, dtype='auto', quantization=None, kv_cache_dtype='auto', mem_fraction_static=0.849, chunked_prefill_size=2048, tp_size=1, pp_size=1, dp_size=1, page_size=1, disable_cuda_graph=False)
[2025-08-08 03:34:36] Load weight begin. avail mem=15.16 GB
[2025-08-08 03:34:38] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=13.91 GB, mem usage=1.25 GB.
[2025-08-08 03:34:38] KV Cache is allocated. #tokens: 104273, K size: 5.57 GB, V size: 5.57 GB
[2025-08-08 03:34:38] Memory pool end. avail mem=2.43 GB
[2025-08-08 03:34:56] Capture cuda graph end. Time elapsed: 18.28 s. mem usage=0.11 GB. avail mem=1.70 GB.
[2025-08-08 03:34:57] max_total_num_tokens=104273, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=2048, context_len=40960, available_gpu_mem=1.70 GB
"""  # noqa: E501

# numbers of a public log of 8 ranks (GLM-5, fp8 cache)
RANKS = """\
[2026-02-26 05:35:08 TP0] Load weight end. elapsed=778.18 s, type=GlmMoeDsaForCausalLM, dtype=torch.bfloat16, avail mem=193.92 GB, mem usage=89.58 GB.
[2026-02-26 05:35:08 TP7] Load weight end. elapsed=887.93 s, type=GlmMoeDsaForCausalLM, dtype=torch.bfloat16, avail mem=194.04 GB, mem usage=89.50 GB.
[2026-02-26 05:35:08 TP0] Using KV cache dtype: torch.float8_e4m3fn
[2026-02-26 05:35:08 TP7] KV Cache is allocated. #tokens: 3262823, KV size: 186.77 GB
[2026-02-26 05:35:08 TP0] KV Cache is allocated. #tokens: 3262823, KV size: 186.77 GB
"""  # noqa: E501


def gib(value: float) -> int:
    return round(value * GIB)


def read(text: str) -> BootLog:
    return read_boot_log(text, name="boot.log")


def test_one_gpu() -> None:
    boot = read(ONE_GPU)
    assert (boot.engine, boot.engine_version) == ("sglang", None)
    assert boot.flags.model == "Qwen/Qwen3-0.6B"
    assert (boot.flags.tensor_parallel, boot.flags.block_size) == (1, 1)
    assert boot.flags.gpu_memory_utilization == 0.849
    assert (boot.flags.max_num_batched_tokens, boot.flags.max_model_len) == (2048, 40960)
    assert boot.flags.kv_dtype == "auto"
    assert boot.gpu_total_bytes is None
    assert (boot.gpu_free_bytes, boot.weights_bytes) == (gib(15.16), gib(1.25))
    assert (boot.free_after_load_bytes, boot.kv_cache_bytes) == (gib(13.91), gib(11.14))
    assert boot.cuda_graph_bytes == gib(0.11)
    assert (boot.kv_cache_tokens, boot.token_meaning) == (104_273, TokenMeaning.CELLS)
    assert boot.budget_bytes == gib(15.16 * 0.849)


def test_ranks_and_a_latent_cache() -> None:
    boot = read(RANKS)
    assert (boot.ranks, boot.kv_cache_tokens) == (2, 3_262_823)
    assert boot.free_after_load_bytes == gib(193.92)
    assert boot.weights_bytes == gib(89.58)
    assert (boot.kv_cache_bytes, boot.flags.kv_dtype) == (gib(186.77), "float8_e4m3fn")
    assert boot.gpu_free_bytes is None
    assert boot.max_concurrency is None


def test_a_draft_model_is_loaded_after_the_target() -> None:
    boot = read(
        "[2026-08-28 21:19:30] Load weight begin. avail mem=111.97 GB\n"
        "[2026-08-28 21:32:38] Load weight end. elapsed=787.55 s, type=Qwen4ExpForConditional,"
        " quant=modelopt_fp4, quant_algo=NVFP4, avail mem=29.01 GB, mem usage=82.97 GB.\n"
        "[2026-08-28 21:32:39] Load weight begin. avail mem=28.81 GB\n"
        "[2026-08-28 21:34:13] Load weight end. elapsed=94 s, type=Draft, avail mem=26.81 GB,"
        " mem usage=2.00 GB.\n"
        "[2026-08-28 21:34:14] KV Cache is allocated. #tokens: 159552, K size: 1.83 GB,"
        " V size: 1.83 GB\n"
        "[2026-08-28 21:34:14] Capture target verify CUDA graph end. elapsed=0.78 s, mem usage=0.12"
        " GB, avail mem=0.51 GB.\n"
        "[2026-08-28 21:34:15] Capture draft decode CUDA graph end. elapsed=1.22 s, mem usage=0.36"
        " GB, avail mem=0.14 GB.\n"
    )
    assert (boot.gpu_free_bytes, boot.free_after_load_bytes) == (gib(111.97), gib(26.81))
    assert boot.weights_bytes == gib(84.97)
    assert boot.cuda_graph_bytes == gib(0.48)


def test_windows_have_places_of_their_own() -> None:
    boot = read(
        "[2026-05-01 10:00:00] Use sliding window memory pool. full_layer_tokens=997846,"
        " swa_layer_tokens=798276\n"
        "[2026-05-01 10:00:00] KV Cache is allocated. #tokens: 798276, K size: 26.0 GB,"
        " V size: 26.0 GB\n"
        "[2026-05-01 10:00:00] KV Cache is allocated. #tokens: 997846, K size: 13.97 GB,"
        " V size: 13.97 GB\n"
        "[2026-05-01 10:00:09] max_total_num_tokens=997846, chunked_prefill_size=8192,"
        " max_prefill_tokens=16384, max_running_requests=2048, context_len=131072\n"
    )
    assert (boot.kv_cache_tokens, boot.swa_tokens) == (997_846, 798_276)
    assert boot.kv_cache_bytes == gib(79.94)
    assert boot.flags.max_num_seqs == 2048


def test_a_size_that_was_rounded_to_nothing_is_unknown() -> None:
    boot = read(
        "[2026-11-30 14:14:43] Load weight end. elapsed=0.03 s, type=LlamaForCausalLM,"
        " avail mem=17.87 GB, mem usage=0.00 GB.\n"
        "[2026-11-30 14:14:45] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8192,"
        " K size: 0.00 GB, V size: 0.00 GB\n"
    )
    assert boot.kv_cache_tokens == 8192
    assert boot.kv_cache_bytes is None
    assert boot.weights_bytes is None
