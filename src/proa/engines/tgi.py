"""Text Generation Inference: `/health` answers 503 while its shards are not healthy.

Source: TGI 3.3.6-dev0, router/src/server.rs and docs/source/reference/metrics.md (read,
not run).
"""

from proa.domain.fleet import EngineKind
from proa.domain.load import EngineLoad
from proa.engines.base import EngineAdapter, Health
from proa.engines.fields import count_of_list, object_at, plain_text, plain_values, positive_count
from proa.engines.prometheus import Readings
from proa.engines.sources import EngineFacts, FactSource, LoadSource, Probe, Reply, TokenCount

_RUNNING = "tgi_batch_current_size"
_WAITING = "tgi_queue_size"
_PROMPT_TOKENS = "tgi_request_input_length_sum"
_GENERATION_TOKENS = "tgi_request_generated_tokens_sum"
_NO_LIMIT = 2**31 - 1
"""What `max_concurrent_requests` is set to by those who want none."""
_FLAGS = ("max_input_tokens", "max_client_batch_size", "validation_workers", "model_sha")


def read_metrics(page: bytes, at_s: float) -> EngineLoad | None:
    """The load on TGI's metrics page; it tells nothing of the KV cache's size or use."""
    readings = Readings(page, (_RUNNING, _WAITING, _PROMPT_TOKENS, _GENERATION_TOKENS))
    if not readings:
        return None
    return EngineLoad(
        at_s=at_s,
        running=readings.count(_RUNNING),
        waiting=readings.count(_WAITING),
        prompt_tokens_total=readings.total(_PROMPT_TOKENS),
        generation_tokens_total=readings.total(_GENERATION_TOKENS),
    )


def read_info(body: bytes) -> EngineFacts | None:
    """`/info`; above `max_concurrent_requests` TGI answers 429."""
    fields = object_at(body)
    if not fields:
        return None
    most = positive_count(fields.get("max_concurrent_requests"))
    return EngineFacts(
        version=plain_text(fields.get("version")) or "",
        context_tokens=positive_count(fields.get("max_total_tokens")),
        max_running=None if most is None or most >= _NO_LIMIT else most,
        flags=plain_values(fields, *_FLAGS),
    )


class TgiAdapter(EngineAdapter):
    """A TGI router."""

    kind = EngineKind.TGI
    health_probe = Probe("/health")
    load_groups = ((LoadSource(Probe("/metrics"), read_metrics, is_metrics=True),),)
    fact_sources = (FactSource(Probe("/info"), read_info, every_s=60.0),)
    token_count = TokenCount("/tokenize", "inputs", count_of_list)

    def health(self, reply: Reply) -> Health:
        return Health.DOWN if reply.status == 503 else super().health(reply)
