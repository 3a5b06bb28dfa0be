"""Triton: readiness under `/v2/health/ready`, models in the repository index.

Its metrics are on a port of their own, 8002 by default, which nothing on its API tells.
Source: Triton 2.51.0, recorded replies; the TensorRT-LLM backend's names from the README
of tensorrtllm_backend (read, not run).
"""

from proa.domain.fleet import EngineKind, ModelView
from proa.domain.load import EngineLoad
from proa.domain.outcome import Outcome
from proa.engines.base import EngineAdapter, Health
from proa.engines.fields import text_at
from proa.engines.models import triton_models
from proa.engines.prometheus import Readings
from proa.engines.sources import (
    CancelHabit,
    EngineFacts,
    FactSource,
    LoadSource,
    Probe,
    Reply,
)

_BAD_JSON_SIGN = b"failed to parse the request JSON"
_PENDING = "nv_inference_pending_request_count"
_TRT_REQUESTS = "nv_trt_llm_request_metrics"
_TRT_KV = "nv_trt_llm_kv_cache_block_metrics"


def read_metrics(page: bytes, at_s: float) -> EngineLoad | None:
    """The load on Triton's metrics page; only the TensorRT-LLM backend tells what runs."""
    readings = Readings(page, (_PENDING, _TRT_REQUESTS, _TRT_KV))
    if not readings:
        return None
    waiting = readings.count(_TRT_REQUESTS, request_type="waiting")
    blocks = readings.total(_TRT_KV, kv_cache_block_type="max")
    block_tokens = readings.greatest(_TRT_KV, kv_cache_block_type="tokens_per")
    use = readings.greatest(_TRT_KV, kv_cache_block_type="fraction")
    return EngineLoad(
        at_s=at_s,
        running=readings.count(_TRT_REQUESTS, request_type="scheduled"),
        waiting=readings.count(_PENDING) if waiting is None else waiting,
        kv_use=None if use is None else min(use, 1.0),
        kv_tokens=round(blocks * block_tokens) if blocks and block_tokens else None,
    )


def read_server(body: bytes) -> EngineFacts | None:
    """`/v2`: `{"name", "version", "extensions"}`."""
    version = text_at(body, "version")
    return EngineFacts(version=version) if version else None


class TritonAdapter(EngineAdapter):
    """A Triton inference server (KServe v2 and the generate extension)."""

    kind = EngineKind.TRITON
    health_probe = Probe("/v2/health/ready")
    models_probe = Probe("/v2/repository/index", "POST", b"{}")
    load_groups = ((LoadSource(Probe("/metrics"), read_metrics, is_metrics=True),),)
    fact_sources = (FactSource(Probe("/v2"), read_server, every_s=60.0),)
    cancel_habit = CancelHabit(stream_s=1.0)
    load_hint = 'set metrics_url, such as "http://HOST:8002/metrics"'

    def health(self, reply: Reply) -> Health:
        """Not ready is a 400, or a 503 in other versions."""
        return Health.LOADING if reply.status in (400, 503) else super().health(reply)

    def models(self, reply: Reply) -> tuple[ModelView, ...] | None:
        return triton_models(reply.body) if reply.status == 200 else None

    def outcome(self, status: int, body: bytes) -> Outcome:
        if status == 500 and _BAD_JSON_SIGN in body:
            return Outcome.CLIENT_FAULT
        return super().outcome(status, body)
