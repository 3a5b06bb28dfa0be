"""vLLM: `/health` asks the engine core, and answers 503 once that is dead.

Source: vLLM 0.32.0, recorded replies; it never generates a token and wakes no sleeper.
"""

from proa.domain.fleet import EngineKind
from proa.engines.base import EngineAdapter, Health, Probe, Reply


class VllmAdapter(EngineAdapter):
    """A vLLM API server."""

    kind = EngineKind.VLLM
    health_probe = Probe("/health")

    def health(self, reply: Reply) -> Health:
        return Health.DOWN if reply.status == 503 else super().health(reply)
