"""Ollama: `/api/tags` lists what is on disk, `/api/ps` what is in memory; both load nothing.

It tells no load: the gateway's own count of requests is all there is (ollama#3144).
Source: Ollama v0.33.0-rc2 (read, not run).
"""

import msgspec

from proa.domain.fleet import EngineKind, ModelView
from proa.engines.base import EngineAdapter
from proa.engines.fields import UNREADABLE, text_at
from proa.engines.models import ollama_models
from proa.engines.sources import EngineFacts, FactSource, Probe, Reply

TAGS_PROBE = Probe("/api/tags")


class _Running(msgspec.Struct):
    name: str = ""
    context_length: int = 0


class _Process(msgspec.Struct):
    models: list[_Running] | None


_process = msgspec.json.Decoder(_Process)


def read_process(body: bytes) -> EngineFacts | None:
    """`/api/ps`: the context of each model in memory; `x:latest` is served as `x` too."""
    try:
        running = _process.decode(body).models or []
    except UNREADABLE:
        return None
    known = {model.name: model.context_length for model in running if model.context_length > 0}
    short = {name.removesuffix(":latest"): context for name, context in known.items()}
    return EngineFacts(contexts=short | known)


def read_version(body: bytes) -> EngineFacts | None:
    """`{"version": "0.33.0"}`."""
    version = text_at(body, "version")
    return EngineFacts(version=version) if version else None


class OllamaAdapter(EngineAdapter):
    """An Ollama server; over its queue's limit (512) it answers 503."""

    kind = EngineKind.OLLAMA
    health_probe = TAGS_PROBE
    models_probe = TAGS_PROBE
    fact_sources = (
        FactSource(Probe("/api/ps"), read_process),
        FactSource(Probe("/api/version"), read_version, every_s=60.0),
    )

    def models(self, reply: Reply) -> tuple[ModelView, ...] | None:
        return ollama_models(reply.body) if reply.status == 200 else None
