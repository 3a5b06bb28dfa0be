"""TGI's `/info` and `/metrics`.

Source: TGI 3.3.6-dev0, router/src (read, not run). Buckets of durations are
0.0001 x 1.5^k seconds there; here they are those of all emulated engines.
"""

from proa.emulator.exposition import Exposition
from proa.emulator.profile import EngineProfile
from proa.emulator.scheduler import Scheduler

NO_LIMIT = 2**31 - 1


def info(profile: EngineProfile, version: str) -> dict[str, object]:
    """What the router was started with."""
    limit = NO_LIMIT if profile.max_queued is None else profile.max_queued
    return {
        "model_id": profile.model,
        "model_sha": None,
        "model_pipeline_tag": "text-generation",
        "max_concurrent_requests": limit,
        "max_best_of": 2,
        "max_stop_sequences": 4,
        "max_input_tokens": profile.context - 1,
        "max_total_tokens": profile.context,
        "validation_workers": 2,
        "max_client_batch_size": 4,
        "router": "text-generation-router",
        "version": version,
        "sha": None,
        "docker_label": None,
    }


def metrics_text(scheduler: Scheduler) -> bytes:
    """The page; TGI tells no use of the KV cache."""
    stats, kv = scheduler.stats, scheduler.kv
    page = Exposition()
    page.gauge("tgi_queue_size", len(scheduler.waiting))
    page.gauge("tgi_batch_current_size", len(scheduler.running))
    page.gauge("tgi_batch_current_max_tokens", kv.used_blocks * kv.block_tokens)
    page.gauge("tgi_batch_total_tokens", kv.blocks * kv.block_tokens)
    page.counter("tgi_request_count", stats.finished + stats.cancelled + stats.rejected)
    page.counter("tgi_request_success", stats.finished)
    page.family(
        "tgi_request_failure",
        "counter",
        [({"err": "overloaded"}, stats.rejected), ({"err": "dropped"}, stats.cancelled)],
    )
    page.histogram("tgi_request_duration", stats.end_to_end_s)
    page.histogram("tgi_request_queue_duration", stats.queue_s)
    page.histogram("tgi_request_mean_time_per_token_duration", stats.inter_token_s)
    page.histogram("tgi_request_input_length", stats.request_prompt_tokens)
    page.histogram("tgi_request_generated_tokens", stats.request_generation_tokens)
    return page.text()
