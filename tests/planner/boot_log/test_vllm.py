"""vLLM's logs, old and new. Lines are excerpts of public logs; the source stands above each."""

import pytest

from proa.planner.boot_log.facts import GIB, BootLog, TokenMeaning
from proa.planner.boot_log.read import read_boot_log

# https://github.com/jgchn/llm-d-planner/blob/56dc5b76ca535960998bdf9fd4a3077d98fdf60a/accuracy/
# results/v0.19.0/logs/deepseek-ai-deepseek-v2---h100-80gb--tp1pp1dp1--8192.log (Apache-2.0)
DEEPSEEK_LITE = """\
(APIServer pid=1) INFO 04-22 00:46:03 [entrypoints/utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.0
(APIServer pid=1) INFO 04-22 00:46:03 [entrypoints/utils.py:299]   █▄█▀ █     █     █     █  model   deepseek-ai/DeepSeek-V2-Lite-Chat
(APIServer pid=1) INFO 04-22 00:46:03 [entrypoints/utils.py:233] non-default args: {'model_tag': 'deepseek-ai/DeepSeek-V2-Lite-Chat', 'model': 'deepseek-ai/DeepSeek-V2-Lite-Chat', 'max_model_len': 8192, 'gpu_memory_utilization': 0.95, 'enable_prefix_caching': False}
(APIServer pid=1) INFO 04-22 00:46:04 [config/model.py:549] Resolved architecture: DeepseekV2ForCausalLM
(APIServer pid=1) INFO 04-22 00:46:04 [config/model.py:1678] Using max model len 8192
(APIServer pid=1) DEBUG 04-22 00:46:04 [engine/arg_utils.py:2232] Defaulting max_num_batched_tokens to 8192 for OPENAI_API_SERVER usage context.
(APIServer pid=1) DEBUG 04-22 00:46:04 [engine/arg_utils.py:2242] Defaulting max_num_seqs to 1024 for OPENAI_API_SERVER usage context.
(APIServer pid=1) INFO 04-22 00:46:04 [config/scheduler.py:238] Chunked prefill is enabled with max_num_batched_tokens=8192.
(EngineCore pid=243) INFO 04-22 00:46:14 [v1/engine/core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: model='deepseek-ai/DeepSeek-V2-Lite-Chat', speculative_config=None, tokenizer='deepseek-ai/DeepSeek-V2-Lite-Chat', skip_tokenizer_init=False, tokenizer_mode=auto, dtype=torch.bfloat16, max_seq_len=8192, download_dir=None, load_format=auto, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda, seed=0
(EngineCore pid=243) DEBUG 04-22 00:46:15 [v1/worker/gpu_worker.py:284] worker init memory snapshot: torch_peak=0.0GiB, free_memory=78.68GiB, total_memory=79.19GiB, cuda_memory=0.51GiB, torch_memory=0.0GiB, non_torch_memory=0.51GiB, timestamp=1776818775.8321583, auto_measure=True
(EngineCore pid=243) DEBUG 04-22 00:46:15 [v1/worker/gpu_worker.py:285] worker requested memory: 75.23GiB
(EngineCore pid=243) INFO 04-22 00:47:19 [v1/worker/gpu_worker.py:597] CUDA graph pool memory: 1.57 GiB (actual), 1.39 GiB (estimated), difference: 0.19 GiB (11.8%).
(EngineCore pid=243) DEBUG 04-22 00:47:19 [v1/worker/gpu_worker.py:661] Free memory on device (78.68/79.19 GiB) on startup. Desired GPU memory utilization is (0.95, 75.23 GiB). Actual usage is 29.43 GiB for weight, 1.93 GiB for peak activation, 0.26 GiB for non-torch memory, and 1.57 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=44981556224` (41.89 GiB) to fit into requested memory, or `--kv-cache-memory=48682603520` (45.34 GiB) to fully utilize gpu memory. Current kv cache memory in use is 43.61 GiB.
(APIServer pid=1) DEBUG 04-22 00:47:20 [v1/metrics/loggers.py:273] Engine 000: vllm cache_config_info with initialization after num_gpu_blocks is: 94097
"""  # noqa: E501

# vllm/worker/worker.py of 0.8; numbers of a public log of an RTX 2060
V0_LINES = """\
INFO 05-21 18:17:01 [model_runner.py:1146] Model loading took 7.5552 GiB and 30.643008 seconds
INFO 05-21 18:17:06 [worker.py:267] Memory profiling takes 5.29 seconds
INFO 05-21 18:17:06 [worker.py:267] the current vLLM instance can use total_gpu_memory (12.00GiB) x gpu_memory_utilization (0.95) = 11.40GiB
INFO 05-21 18:17:06 [worker.py:267] model weights take 7.56GiB; non_torch_memory takes 0.04GiB; PyTorch activation peak memory takes 0.74GiB; the rest of the memory reserved for KV Cache is 3.06GiB.
INFO 05-21 18:17:06 [executor_base.py:112] # cuda blocks: 1394, # CPU blocks: 1820
INFO 05-21 18:17:06 [executor_base.py:117] Maximum concurrency for 10000 tokens per request: 2.23x
"""  # noqa: E501

# vllm/worker/worker.py of 0.6.4; numbers of a public log of an H200
V0_RESULTS = """\
INFO 04-28 04:07:51 model_runner.py:1077] Loading model weights took 2.0512 GB
INFO 04-28 04:07:51 worker.py:232] Memory profiling results: total_gpu_memory=139.80GiB initial_memory_usage=2.71GiB peak_torch_memory=2.38GiB memory_usage_post_profile=2.81GiB non_torch_memory=0.73GiB kv_cache_size=122.71GiB gpu_memory_utilization=0.90
INFO 04-28 04:07:52 gpu_executor.py:113] # GPU blocks: 365549, # CPU blocks: 11915
"""  # noqa: E501

# numbers of a public log of two cards; the lines are those of vllm 0.24
TWO_RANKS = """\
\x1b[0;36m(Worker_TP0 pid=512)\x1b[0;0m INFO [model_runner.py:415] Model loading took 19.07 GiB memory and 58.2 seconds
\x1b[0;36m(Worker_TP1 pid=513)\x1b[0;0m INFO [model_runner.py:415] Model loading took 19.27 GiB memory and 58.2 seconds
(Worker_TP0 pid=512) INFO [gpu_model_runner.py:6639] Estimated CUDA graph memory: 0.40 GiB total
(Worker_TP1 pid=513) INFO [gpu_model_runner.py:6639] Estimated CUDA graph memory: 0.42 GiB total
(Worker_TP0 pid=512) INFO [gpu_worker.py:701] Available KV cache memory: 4.87 GiB
(Worker_TP1 pid=513) INFO [gpu_worker.py:701] Available KV cache memory: 4.61 GiB
(Worker_TP1 pid=513) INFO [gpu_worker.py:716] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.9700 is equivalent to --gpu-memory-utilization=0.9574 without CUDA graph memory profiling.
(EngineCore pid=384) INFO [kv_cache_utils.py:2393] GPU KV cache size: 651,081 tokens, Maximum concurrency for 262,144 tokens per request: 2.48x
(Worker_TP1 pid=513) INFO [gpu_worker.py:935] Free memory on device (31.23/31.86 GiB) on startup. Desired GPU memory utilization is (0.97, 30.9 GiB). Actual usage is 24.58 GiB for consumed memory (weights + non-torch), 1.46 GiB for peak activation, and 0.49 GiB for CUDAGraph memory.
"""  # noqa: E501


def gib(value: float) -> int:
    return round(value * GIB)


def read(text: str) -> BootLog:
    return read_boot_log(text, name="boot.log")


def test_a_debug_log_tells_everything() -> None:
    boot = read(DEEPSEEK_LITE)
    assert (boot.engine, boot.engine_version) == ("vllm", "0.19.0")
    assert boot.architecture == "DeepseekV2ForCausalLM"
    assert boot.flags.model == "deepseek-ai/DeepSeek-V2-Lite-Chat"
    assert boot.flags.gpu_memory_utilization == 0.95
    assert (boot.flags.max_model_len, boot.flags.max_num_seqs) == (8192, 1024)
    assert boot.flags.max_num_batched_tokens == 8192
    assert (boot.flags.tensor_parallel, boot.flags.pipeline_parallel) == (1, 1)
    assert (boot.flags.dtype, boot.flags.kv_dtype) == ("bfloat16", "auto")
    assert boot.flags.quantization is None
    assert boot.flags.enforce_eager is False
    assert (boot.gpu_total_bytes, boot.gpu_free_bytes) == (gib(79.19), gib(78.68))
    assert (boot.budget_bytes, boot.kv_cache_bytes) == (gib(75.23), gib(43.61))
    assert (boot.weights_bytes, boot.activation_bytes) == (gib(29.43), gib(1.93))
    assert boot.non_torch_bytes == gib(0.26)
    assert (boot.cuda_graph_bytes, boot.cuda_graph_estimated_bytes) == (gib(1.57), gib(1.39))
    assert boot.cuda_graphs_counted is None
    assert (boot.kv_blocks, boot.kv_cache_tokens) == (94097, 94097 * 16)
    assert boot.non_kv_bytes == gib(75.23) - gib(43.61)


def test_v0_counts_blocks() -> None:
    boot = read(V0_LINES)
    assert (boot.kv_cache_tokens, boot.kv_blocks) == (1394 * 16, 1394)
    assert boot.max_concurrency == 2.23
    assert boot.concurrent_tokens == 1394 * 16
    assert (boot.weights_bytes, boot.activation_bytes) == (gib(7.56), gib(0.74))
    assert (boot.non_torch_bytes, boot.kv_cache_bytes) == (gib(0.04), gib(3.06))
    assert (boot.gpu_total_bytes, boot.budget_bytes) == (gib(12.0), gib(11.4))
    assert boot.flags.gpu_memory_utilization == 0.95


def test_old_v0_says_gb_and_means_gib() -> None:
    boot = read(V0_RESULTS)
    assert boot.weights_bytes == gib(2.0512)
    assert boot.activation_bytes == gib(2.38 - 2.0512)
    assert (boot.kv_cache_bytes, boot.non_torch_bytes) == (gib(122.71), gib(0.73))
    assert boot.flags.gpu_memory_utilization == 0.9
    assert boot.max_concurrency is None


def test_the_rank_with_the_smallest_cache_binds() -> None:
    boot = read(TWO_RANKS)
    assert (boot.ranks, boot.kv_cache_bytes) == (2, gib(4.61))
    assert boot.weights_bytes == gib(19.27)
    assert boot.cuda_graphs_counted is True
    assert boot.cuda_graph_estimated_bytes == gib(0.42)
    assert boot.consumed_bytes == gib(24.58)
    assert boot.activation_bytes == gib(1.46 - 0.42)
    assert boot.token_meaning is TokenMeaning.CONCURRENCY


@pytest.mark.parametrize(
    ("tokens", "times", "meaning"),
    [
        # vllm-project/vllm#40691: windows; blocks // groups x 16 is less than what fits
        (168_880, 20.6 * 2, TokenMeaning.BLOCKS),
        (651_081, 79.48, TokenMeaning.CONCURRENCY),
    ],
)
def test_the_numbers_tell_what_the_line_means(
    tokens: int, times: float, meaning: TokenMeaning
) -> None:
    boot = read(
        f"INFO GPU KV cache size: {tokens:,} tokens\n"
        f"INFO Maximum concurrency for 8,192 tokens per request: {times:.2f}x\n"
    )
    assert boot.token_meaning is meaning
    assert boot.concurrent_tokens == (
        tokens if meaning is TokenMeaning.CONCURRENCY else int(8192 * times)
    )


def test_a_number_alone_tells_no_meaning() -> None:
    boot = read("INFO GPU KV cache size: 450,816 tokens\n")
    assert boot.kv_cache_tokens == 450_816
    assert boot.token_meaning is None
    assert boot.weights_bytes is None


def test_the_last_complete_start_of_a_restarted_container_counts() -> None:
    first = "INFO vLLM API server version 0.11.0\nINFO GPU KV cache size: 1,600 tokens\n"
    second = "INFO vLLM API server version 0.11.2\nINFO GPU KV cache size: 3,200 tokens\n"
    third = "INFO vLLM API server version 0.12.0\nINFO torch.OutOfMemoryError\n"
    boot = read(first + second + third)
    assert (boot.engine_version, boot.kv_cache_tokens) == ("0.11.2", 3200)


def test_lines_that_were_wrapped_when_pasted() -> None:
    boot = read(
        "Desired GPU memory utilization is (0.95, 78.9 GiB). Actual usage is 43.21 GiB for\n"
        "consumed memory (weights + non-torch), 0.92 GiB for peak activation, and 0.12 GiB\n"
        "for CUDAGraph memory. Current kv cache memory in use is 34.76 GiB.\n"
    )
    assert (boot.consumed_bytes, boot.kv_cache_bytes) == (gib(43.21), gib(34.76))


def test_a_cache_that_was_given_in_bytes() -> None:
    boot = read(
        "INFO Initial free memory 120.0 GiB, reserved 4.0 GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes config and skipped memory profiling.\n"
        "INFO GPU KV cache size: 37,440 tokens\n"
    )
    assert boot.kv_cache_bytes == gib(4.0)
    assert boot.is_cache_given
    assert boot.budget_bytes is None


def test_negative_amounts_are_read_as_they_are() -> None:
    boot = read(
        "DEBUG Memory profiling takes 24.71 seconds. Total non KV cache memory: 16.70GiB; torch "
        "peak memory increase: 1.40GiB; non-torch forward increase memory: -15.24GiB; weights "
        "memory: 15.27GiB.\nINFO Available KV cache memory: 25.94 GiB\n"
    )
    assert boot.non_torch_bytes == gib(-15.24)
    assert (boot.weights_bytes, boot.activation_bytes) == (gib(15.27), gib(1.4))


def test_a_start_on_the_cpu_as_vllm_0_32_writes_it() -> None:
    # vLLM 0.32.0 (CPU) with VLLM_CPU_KVCACHE_SPACE=1; the configuration is cut.
    boot = read(
        "(APIServer pid=7) INFO [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  "
        "version 0.32.0\n"
        "(APIServer pid=7) INFO [model.py:733] Resolved architecture: "
        "LlamaForCausalLM\n"
        "(EngineCore pid=8) INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0)"
        " with config: model='models/tiny', dtype=torch.bfloat16, max_seq_len=512, "
        "tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, enforce_eager=True, "
        "kv_cache_dtype=auto\n"
        "(Worker pid=9) INFO [v1/worker/cpu_worker.py:260] Explicitly set (1.0/15.59) "
        "GiB for KV cache on node 0.\n"
        "(EngineCore pid=8) INFO [v1/core/kv_cache_utils.py:2327] CPU KV cache size: "
        "1,048,576 tokens, Maximum concurrency for 512 tokens per request: 2048.00x\n"
    )
    assert (boot.kv_cache_bytes, boot.gpu_total_bytes) == (gib(1.0), gib(15.59))
    assert boot.is_cache_given
    assert (boot.kv_cache_tokens, boot.max_concurrency) == (1_048_576, 2048.0)
    assert (boot.flags.tensor_parallel, boot.flags.enforce_eager) == (1, True)
