"""llama.cpp's `/slots`, `/props` and `/metrics`.

Source: recorded replies. There are no histograms and no labels.
"""

from proa.emulator.profile import EngineProfile
from proa.emulator.scheduler import Scheduler

Json = dict[str, object]


def properties(profile: EngineProfile) -> Json:
    """What the server was started with."""
    return {
        "default_generation_settings": {"n_ctx": profile.context},
        "total_slots": profile.max_running,
        "model_alias": profile.model,
        "model_path": profile.model,
        "modalities": {"vision": False, "audio": False},
        "endpoint_slots": True,
        "endpoint_props": True,
        "endpoint_metrics": True,
        "chat_template": "",
        "build_info": "b0-emulated",
        "is_sleeping": False,
    }


def slots(scheduler: Scheduler) -> list[Json]:
    """Every slot; running sequences take the first ones."""
    told: list[Json] = []
    for number in range(scheduler.profile.max_running):
        slot: Json = {"id": number, "n_ctx": scheduler.profile.context, "speculative": False}
        slot["is_processing"] = number < len(scheduler.running)
        if number < len(scheduler.running):
            sequence = scheduler.running[number]
            slot["n_prompt_tokens"] = sequence.prompt_tokens
            slot["n_prompt_tokens_cache"] = sequence.cached_tokens
            rest = sequence.output_tokens - sequence.generated
            slot["next_token"] = [{"n_remain": rest, "n_decoded": sequence.generated}]
        told.append(slot)
    return told


def metrics_text(scheduler: Scheduler) -> bytes:
    """The page that `--metrics` switches on."""
    stats = scheduler.stats
    computed = stats.prompt_tokens - stats.prefix_hits
    busy = stats.step_sequences / stats.steps if stats.steps else 0.0
    families = (
        ("prompt_tokens_total", "counter", computed),
        ("prompt_tokens_cached_total", "counter", stats.prefix_hits),
        ("prompt_seconds_total", "counter", stats.prefill_s),
        ("tokens_predicted_total", "counter", stats.generation_tokens),
        ("tokens_predicted_seconds_total", "counter", stats.decode_s),
        ("n_decode_total", "counter", stats.steps),
        ("prompt_tokens_seconds", "gauge", _rate(computed, stats.prefill_s)),
        ("predicted_tokens_seconds", "gauge", _rate(stats.generation_tokens, stats.decode_s)),
        ("requests_processing", "gauge", len(scheduler.running)),
        ("requests_deferred", "gauge", len(scheduler.waiting)),
        ("n_busy_slots_per_decode", "gauge", busy),
    )
    lines = [
        f"# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value:g}"
        for name, kind, value in families
    ]
    return ("\n".join(lines) + "\n").encode()


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds else 0.0
