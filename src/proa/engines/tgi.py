"""Text Generation Inference: `/health` answers 503 while its shards are not healthy.

Source: TGI 3.3.6-dev0, router/src/server.rs (read, not run).
"""

from proa.domain.fleet import EngineKind
from proa.engines.base import EngineAdapter, Health, Probe, Reply


class TgiAdapter(EngineAdapter):
    """A TGI router."""

    kind = EngineKind.TGI
    health_probe = Probe("/health")

    def health(self, reply: Reply) -> Health:
        return Health.DOWN if reply.status == 503 else super().health(reply)
