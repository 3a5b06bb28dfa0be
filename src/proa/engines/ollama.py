"""Ollama: `/api/tags` lists what is on disk and loads nothing.

Source: Ollama v0.33.0-rc2 (read, not run).
"""

from proa.domain.fleet import EngineKind, ModelView
from proa.engines.base import EngineAdapter, Probe, Reply
from proa.engines.models import ollama_models

TAGS_PROBE = Probe("/api/tags")


class OllamaAdapter(EngineAdapter):
    """An Ollama server."""

    kind = EngineKind.OLLAMA
    health_probe = TAGS_PROBE
    models_probe = TAGS_PROBE

    def models(self, reply: Reply) -> tuple[ModelView, ...] | None:
        return ollama_models(reply.body) if reply.status == 200 else None
