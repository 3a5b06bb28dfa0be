"""Triton: readiness under `/v2/health/ready`, models in the repository index.

Source: Triton 2.51.0, recorded replies.
"""

from proa.domain.fleet import EngineKind, ModelView
from proa.domain.outcome import Outcome
from proa.engines.base import EngineAdapter, Health, Probe, Reply
from proa.engines.models import triton_models

_BAD_JSON_SIGN = b"failed to parse the request JSON"


class TritonAdapter(EngineAdapter):
    """A Triton inference server (KServe v2 and the generate extension)."""

    kind = EngineKind.TRITON
    health_probe = Probe("/v2/health/ready")
    models_probe = Probe("/v2/repository/index", "POST", b"{}")

    def health(self, reply: Reply) -> Health:
        """Not ready is a 400, or a 503 in other versions."""
        return Health.LOADING if reply.status in (400, 503) else super().health(reply)

    def models(self, reply: Reply) -> tuple[ModelView, ...] | None:
        return triton_models(reply.body) if reply.status == 200 else None

    def outcome(self, status: int, body: bytes) -> Outcome:
        if status == 500 and _BAD_JSON_SIGN in body:
            return Outcome.CLIENT_FAULT
        return super().outcome(status, body)
