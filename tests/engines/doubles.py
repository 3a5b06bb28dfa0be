"""Answers written after engines' protocols where none were recorded.

TGI 3.3.6-dev0 (docs/source/reference/metrics.md), Ollama v0.33.0-rc2 (api/types.go),
trtllm-serve and the TensorRT-LLM backend (their READMEs), older vLLM and SGLang.
"""

from proa.engines.sources import Reply


def _ok(body: str) -> Reply:
    return Reply(200, body.encode())


OLD_VLLM_METRICS = _ok("""\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 5.0
vllm:num_requests_waiting{model_name="m"} 1.0
vllm:gpu_cache_usage_perc{model_name="m"} 0.75
vllm:gpu_prefix_cache_queries_total{model_name="m"} 100.0
vllm:gpu_prefix_cache_hits_total{model_name="m"} 40.0
vllm:cache_config_info{block_size="16",num_gpu_blocks="2000"} 1.0
""")
SLEEPING_VLLM_METRICS = _ok("""\
vllm:num_requests_running{engine="0"} 0.0
vllm:engine_sleep_state{engine="0",sleep_state="awake"} 0.0
vllm:engine_sleep_state{engine="0",sleep_state="weights_offloaded"} 1.0
""")
SGLANG_TWO_RANKS = _ok(
    '{"loads":['
    '{"dp_rank":0,"num_running_reqs":2,"num_waiting_reqs":3,"token_usage":0.9,'
    '"max_total_num_tokens":1000,"max_running_requests":16},'
    '{"dp_rank":1,"num_running_reqs":3,"num_waiting_reqs":0,"token_usage":0.1,'
    '"max_total_num_tokens":1000,"max_running_requests":16}]}'
)
SGLANG_GET_LOAD = _ok(
    '[{"dp_rank":0,"num_reqs":5,"num_waiting_reqs":2,"num_tokens":90},'
    '{"dp_rank":1,"num_reqs":3,"num_waiting_reqs":0,"num_tokens":40}]'
)
SGLANG_OLD_INFO = _ok('{"version":"0.4.6","internal_states":[{"load":3},{"load":1}]}')
SGLANG_UNDERSCORES = _ok("""\
sglang_num_running_reqs{model_name="m",tp_rank="0"} 3.0
sglang_num_running_reqs{model_name="m",tp_rank="1"} 3.0
sglang_num_queue_reqs{model_name="m",tp_rank="0"} 1.0
sglang_token_usage{model_name="m",tp_rank="0"} 0.5
""")
TRITON_TRTLLM_METRICS = _ok("""\
nv_inference_pending_request_count{model="ensemble",version="1"} 0
nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 9
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 2
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="context",version="1"} 1
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 7
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 512
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 9
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="tensorrt_llm"} 0.25
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="tensorrt_llm"} 64
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="tensorrt_llm"} 250
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm"} 1000
""")
TGI_METRICS = _ok("""\
# TYPE tgi_queue_size gauge
tgi_queue_size 4
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 12
tgi_batch_current_max_tokens 9000
tgi_request_input_length_sum 2048
tgi_request_input_length_count 32
tgi_request_generated_tokens_sum 512
""")
TGI_INFO = _ok(
    '{"model_id":"a/b","model_sha":"e1","model_pipeline_tag":"text-generation",'
    '"max_concurrent_requests":128,"max_best_of":2,"max_stop_sequences":4,'
    '"max_input_tokens":4095,"max_total_tokens":4096,"validation_workers":2,'
    '"max_client_batch_size":4,"router":"text-generation-router","version":"3.3.6-dev0",'
    '"sha":null,"docker_label":null}'
)
TGI_TOKENIZE = _ok('[{"id":4,"text":"test","start":0,"stop":4},{"id":5},{"id":6}]')
OLLAMA_PS = _ok(
    '{"models":['
    '{"name":"qwen3:8b","model":"qwen3:8b","size":1,"digest":"d","details":{},'
    '"expires_at":"2026-11-30T14:15:22Z","size_vram":1,"context_length":4096},'
    '{"name":"smol:latest","model":"smol:latest","context_length":2048},'
    '{"name":"old","model":"old"}]}'
)
OLLAMA_VERSION = _ok('{"version":"0.33.0"}')
TRTLLM_SERVE_METRICS = _ok("""\
trtllm_num_requests_running 3
trtllm_num_requests_waiting 1
trtllm_kv_cache_utilization 0.6
trtllm_kv_cache_hit_rate 0.3
trtllm_kv_cache_max_blocks 1000
trtllm_kv_cache_tokens_per_block 32
""")
TRTLLM_COLONS = _ok("trtllm:num_requests_running 2\ntrtllm:num_requests_waiting 0\n")
