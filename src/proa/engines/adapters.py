"""The table from an engine's kind to its adapter, and how the kind is found out."""

from proa.domain.fleet import EngineKind
from proa.domain.outcome import Outcome
from proa.engines.base import MODELS_PROBE, EngineAdapter
from proa.engines.llamacpp import LlamaCppAdapter, is_loading
from proa.engines.models import ollama_models, owners
from proa.engines.ollama import TAGS_PROBE, OllamaAdapter
from proa.engines.openai import OpenAiAdapter
from proa.engines.sglang import SglangAdapter
from proa.engines.sources import Probe, Reply
from proa.engines.tgi import TgiAdapter
from proa.engines.triton import TritonAdapter
from proa.engines.vllm import VllmAdapter

ADAPTERS: dict[EngineKind, EngineAdapter] = {
    EngineKind.AUTO: EngineAdapter(),
    EngineKind.OPENAI: OpenAiAdapter(),
    EngineKind.VLLM: VllmAdapter(),
    EngineKind.SGLANG: SglangAdapter(),
    EngineKind.TGI: TgiAdapter(),
    EngineKind.TRITON: TritonAdapter(),
    EngineKind.LLAMACPP: LlamaCppAdapter(),
    EngineKind.OLLAMA: OllamaAdapter(),
}

DETECTION: tuple[Probe, ...] = (MODELS_PROBE, TAGS_PROBE, Probe("/v2"))
"""What to ask an engine of unknown kind, in order, until `detect` names one.

SGLang and llama.cpp answer `/api/tags` too, so the OpenAI list goes first.
"""

_OWNERS = {
    "vllm": EngineKind.VLLM,
    "sglang": EngineKind.SGLANG,
    "llamacpp": EngineKind.LLAMACPP,
    "library": EngineKind.OLLAMA,
}


def classify(kind: EngineKind, status: int, body: bytes) -> Outcome:
    """The class of an engine's response; `body` matters only from status 400 on.

    2xx and 3xx are `OK` by status alone; an error inside a stream of status 200
    is `events.error_in_event`'s to find, and its status comes back here.
    """
    return Outcome.OK if status < 400 else ADAPTERS[kind].outcome(status, body)


def detect(probe: Probe, reply: Reply) -> EngineKind | None:
    """The kind that a reply to one of the `DETECTION` probes gives away, if it does."""
    if probe is MODELS_PROBE:
        return _detect_by_list(reply)
    if reply.status != 200:
        return None
    if probe is TAGS_PROBE:
        return EngineKind.OLLAMA if ollama_models(reply.body) is not None else None
    return EngineKind.TRITON if b'"extensions"' in reply.body else None


def _detect_by_list(reply: Reply) -> EngineKind | None:
    if reply.status == 503 and is_loading(reply.body):
        return EngineKind.LLAMACPP
    listed = owners(reply.body) if reply.status == 200 else None
    if not listed:
        return None  # an Ollama without models lists nothing here either
    model_id, owner = listed[0]
    if owner == model_id:
        return EngineKind.TGI  # router/src/server.rs fills both with the model's id
    return _OWNERS.get(owner, EngineKind.OPENAI)
