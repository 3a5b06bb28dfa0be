"""llama.cpp server: 503 while the model loads, 501 for features that are switched off.

Source: recorded replies of the server in xllamacpp.
"""

from proa.domain.fleet import EngineKind
from proa.domain.outcome import Outcome
from proa.engines.base import EngineAdapter, Health, Probe, Reply

_LOADING_SIGNS = (b"Loading model", b"unavailable_error")


class LlamaCppAdapter(EngineAdapter):
    """A llama.cpp server; full slots queue without limit and stay healthy."""

    kind = EngineKind.LLAMACPP
    health_probe = Probe("/health")

    def health(self, reply: Reply) -> Health:
        return Health.LOADING if reply.status == 503 else super().health(reply)

    def outcome(self, status: int, body: bytes) -> Outcome:
        if status == 501:
            return Outcome.CLIENT_FAULT
        if status == 503 and is_loading(body):
            return Outcome.NOT_READY
        return super().outcome(status, body)


def is_loading(body: bytes) -> bool:
    """Whether the body of a 503 says that the model is still being loaded."""
    return any(sign in body for sign in _LOADING_SIGNS)
