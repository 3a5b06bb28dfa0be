"""vLLM's `/metrics`: the names, labels and kinds of version 0.32.

Source: vllm/v1/metrics/loggers.py and a recorded page. Only what the emulator knows is
there; of the page of a real engine most other names concern its process.
"""

from proa.emulator.exposition import Exposition
from proa.emulator.scheduler import Scheduler


def metrics_text(scheduler: Scheduler, now_s: float) -> bytes:
    """The page; `now_s` is Unix time, which the LoRA series have as their value."""
    profile, stats = scheduler.profile, scheduler.stats
    page = Exposition({"engine": "0", "model_name": profile.model})
    waiting = len(scheduler.waiting)
    page.gauge("vllm:num_requests_running", len(scheduler.running))
    page.gauge("vllm:num_requests_waiting", waiting)
    page.family(
        "vllm:num_requests_waiting_by_reason",
        "gauge",
        [({"reason": "capacity"}, waiting), ({"reason": "deferred"}, 0)],
    )
    page.family(
        "vllm:engine_sleep_state",
        "gauge",
        [
            ({"sleep_state": "awake"}, 1),
            ({"sleep_state": "weights_offloaded"}, 0),
            ({"sleep_state": "discard_all"}, 0),
        ],
    )
    page.gauge("vllm:kv_cache_usage_perc", scheduler.kv.use)
    page.counter("vllm:prefix_cache_queries_total", stats.prefix_queries)
    page.counter("vllm:prefix_cache_hits_total", stats.prefix_hits)
    page.counter("vllm:num_preemptions_total", stats.preemptions)
    page.counter("vllm:prompt_tokens_total", stats.prompt_tokens)
    page.counter("vllm:generation_tokens_total", stats.generation_tokens)
    page.family(
        "vllm:request_success_total",
        "counter",
        [
            ({"finished_reason": "stop"}, stats.finished_stop),
            ({"finished_reason": "length"}, stats.finished_length),
            ({"finished_reason": "abort"}, 0),  # vLLM does not count what clients abort
        ],
    )
    page.histogram("vllm:request_prompt_tokens", stats.request_prompt_tokens)
    page.histogram("vllm:request_generation_tokens", stats.request_generation_tokens)
    page.histogram("vllm:time_to_first_token_seconds", stats.first_token_s)
    page.histogram("vllm:inter_token_latency_seconds", stats.inter_token_s)
    page.histogram("vllm:e2e_request_latency_seconds", stats.end_to_end_s)
    page.histogram("vllm:request_queue_time_seconds", stats.queue_s)
    return page.text() + _other_labels(scheduler, now_s)


def _cache_config(scheduler: Scheduler) -> dict[str, str]:
    profile = scheduler.profile
    return {
        "block_size": str(profile.block_tokens),
        "num_gpu_blocks": str(profile.kv_blocks),
        "engine": "0",
        "cache_dtype": "auto",
        "enable_prefix_caching": str(profile.prefix_cache),
        "kv_cache_size_tokens": str(profile.kv_blocks * profile.block_tokens),
    }


def _other_labels(scheduler: Scheduler, now_s: float) -> bytes:
    """Series that lack `engine` or `model_name`, as in the recorded page."""
    profile = scheduler.profile
    page = Exposition()
    page.gauge("vllm:cache_config_info", 1, **_cache_config(scheduler))
    page.counter(
        "vllm:admission_rejections_total",
        scheduler.stats.rejected,
        model_name=profile.model,
        reason="max_num_queued_reqs",
    )
    if profile.lora_slots:
        page.gauge(
            "vllm:lora_requests_info",
            now_s,
            max_lora=str(profile.lora_slots),
            running_lora_adapters=",".join(scheduler.adapters.in_use),
            waiting_lora_adapters=",".join(_waiting_adapters(scheduler)),
        )
    return page.text()


def _waiting_adapters(scheduler: Scheduler) -> list[str]:
    names = (sequence.spec.adapter for sequence in scheduler.waiting)
    return list(dict.fromkeys(name for name in names if name))
