"""vLLM: `/health` asks the engine core, and answers 503 once that is dead.

Source: vLLM 0.32.0, recorded replies; it never generates a token and wakes no sleeper.
Older names of metrics: vllm/v1/metrics/loggers.py, vllm#18354.
"""

from collections.abc import Iterable

from proa.domain.fleet import EngineKind
from proa.domain.load import EngineLoad
from proa.engines.base import EngineAdapter, Health
from proa.engines.fields import count_of_tokens, text_at
from proa.engines.prometheus import Reading, Readings
from proa.engines.sources import (
    CancelHabit,
    EngineFacts,
    FactSource,
    LoadSource,
    Probe,
    Reply,
    TokenCount,
)

_RUNNING = "vllm:num_requests_running"
_WAITING = "vllm:num_requests_waiting"
_KV_USE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
_KV_CONFIG = "vllm:cache_config_info"
_QUERIES = ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total")
_HITS = ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total")
_PREEMPTIONS = "vllm:num_preemptions_total"
_PROMPT_TOKENS = "vllm:prompt_tokens_total"
_GENERATION_TOKENS = "vllm:generation_tokens_total"
_LORA = "vllm:lora_requests_info"
_SLEEP = "vllm:engine_sleep_state"
_ALL = (_RUNNING, _WAITING, *_KV_USE, _KV_CONFIG, *_QUERIES, *_HITS, _PREEMPTIONS, _PROMPT_TOKENS,
        _GENERATION_TOKENS, _LORA, _SLEEP)  # fmt: skip


def read_metrics(page: bytes, at_s: float) -> EngineLoad | None:
    """The load on vLLM's metrics page, over all of its engines (data parallel ranks)."""
    readings = Readings(page, _ALL)
    if not readings:
        return None
    awake = readings.greatest(_SLEEP, sleep_state="awake")
    lora = max(readings.series(_LORA), key=lambda reading: reading.value, default=None)
    return EngineLoad(
        at_s=at_s,
        running=readings.count(_RUNNING),
        waiting=readings.count(_WAITING),
        kv_use=readings.share(*_KV_USE),
        kv_tokens=_kv_tokens(readings.series(_KV_CONFIG)),
        preemptions_total=readings.total(_PREEMPTIONS),
        prefix_queries_total=readings.total(*_QUERIES),
        prefix_hits_total=readings.total(*_HITS),
        prompt_tokens_total=readings.total(_PROMPT_TOKENS),
        generation_tokens_total=readings.total(_GENERATION_TOKENS),
        adapters_running=_adapters(lora),
        adapters_max=_number(lora.labels, "max_lora") if lora else None,
        is_sleeping=None if awake is None else awake == 0,
    )


def _kv_tokens(configurations: Iterable[Reading]) -> int | None:
    """KV cache over all engines; 0.32 states tokens, older versions blocks and their size."""
    tokens = 0
    for reading in configurations:
        stated = _number(reading.labels, "kv_cache_size_tokens")
        blocks = _number(reading.labels, "num_gpu_blocks")
        block_size = _number(reading.labels, "block_size")
        tokens += stated or (blocks or 0) * (block_size or 0)
    return tokens or None


def _adapters(lora: Reading | None) -> tuple[str, ...] | None:
    """Adapters with requests in flight; series of the past stay, the newest has the greatest
    value, a Unix time."""
    if lora is None:
        return None
    listed = [lora.labels.get(f"{state}_lora_adapters", "") for state in ("running", "waiting")]
    names = (name.strip() for text in listed for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _number(labels: dict[str, str], name: str) -> int | None:
    text = labels.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def read_version(body: bytes) -> EngineFacts | None:
    """`{"version": "0.32.0"}`."""
    version = text_at(body, "version")
    return EngineFacts(version=version) if version else None


class VllmAdapter(EngineAdapter):
    """A vLLM API server; it queues without limit unless told otherwise."""

    kind = EngineKind.VLLM
    health_probe = Probe("/health")
    load_groups = ((LoadSource(Probe("/metrics"), read_metrics, is_metrics=True),),)
    fact_sources = (FactSource(Probe("/version"), read_version, every_s=60.0),)
    token_count = TokenCount("/tokenize", "prompt", count_of_tokens)
    cancel_habit = CancelHabit(stream_s=0.05, whole_s=0.05)
    wakes_on_request = False
    load_hint = "leave out --disable-log-stats"

    def health(self, reply: Reply) -> Health:
        return Health.DOWN if reply.status == 503 else super().health(reply)
