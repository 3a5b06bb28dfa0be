"""SGLang's `/v1/loads` and `/metrics`: the names, labels and kinds of version 0.5.23.

Source: recorded replies; only what the emulator knows is there.
"""

from proa.emulator.exposition import Exposition
from proa.emulator.scheduler import Scheduler

_RANKS = {"moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}


def loads(scheduler: Scheduler, now_s: float) -> dict[str, object]:
    """What one data-parallel rank says of itself."""
    used = scheduler.kv.used_blocks * scheduler.kv.block_tokens
    capacity = scheduler.kv.blocks * scheduler.kv.block_tokens
    return {
        "timestamp": now_s,
        "dp_rank": 0,
        "num_running_reqs": len(scheduler.running),
        "num_waiting_reqs": len(scheduler.waiting),
        "num_waiting_uncached_tokens": sum(s.tokens for s in scheduler.waiting),
        "num_used_tokens": used,
        "num_total_tokens": used + sum(s.tokens for s in scheduler.waiting),
        "max_total_num_tokens": capacity,
        "max_running_requests": scheduler.profile.max_running,
        "token_usage": round(scheduler.kv.use, 4),
        "gen_throughput": scheduler.stats.step_tokens_per_s if scheduler.running else 0.0,
        "cache_hit_rate": _hit_rate(scheduler),
        "utilization": len(scheduler.running) / scheduler.profile.max_running,
    }


def sections(scheduler: Scheduler) -> dict[str, object]:
    """What `include=core` leaves out."""
    waiting = len(scheduler.waiting)
    return {
        "memory": {"token_capacity": scheduler.kv.blocks * scheduler.kv.block_tokens},
        "queues": {"waiting": waiting, "grammar": 0, "paused": 0, "retracted": 0},
    }


def metrics_text(scheduler: Scheduler) -> bytes:
    """The page that `--enable-metrics` switches on."""
    profile, stats, kv = scheduler.profile, scheduler.stats, scheduler.kv
    page = Exposition({"engine_type": "unified", "model_name": profile.model})
    for name, value in (
        ("num_running_reqs", len(scheduler.running)),
        ("num_queue_reqs", len(scheduler.waiting)),
        ("num_grammar_queue_reqs", 0),
        ("token_usage", kv.use),
        ("num_used_tokens", kv.used_blocks * kv.block_tokens),
        ("max_total_num_tokens", kv.blocks * kv.block_tokens),
        ("gen_throughput", stats.step_tokens_per_s if scheduler.running else 0.0),
        ("cache_hit_rate", _hit_rate(scheduler)),
    ):
        page.gauge(f"sglang:{name}", value, **_RANKS)
    page.gauge("sglang:num_retracted_reqs", stats.preemptions, **_RANKS, pid="1")
    page.counter("sglang:prompt_tokens_total", stats.prompt_tokens)
    page.counter("sglang:generation_tokens_total", stats.generation_tokens)
    page.counter("sglang:cached_tokens_total", stats.prefix_hits, cache_source="device")
    page.counter("sglang:num_requests_total", stats.finished)
    page.counter("sglang:num_aborted_requests_total", stats.cancelled)
    page.histogram("sglang:time_to_first_token_seconds", stats.first_token_s)
    page.histogram("sglang:inter_token_latency_seconds", stats.inter_token_s)
    page.histogram("sglang:e2e_request_latency_seconds", stats.end_to_end_s)
    page.histogram("sglang:queue_time_seconds", stats.queue_s)
    return page.text()


def _hit_rate(scheduler: Scheduler) -> float:
    stats = scheduler.stats
    return stats.prefix_hits / stats.prefix_queries if stats.prefix_queries else 0.0
