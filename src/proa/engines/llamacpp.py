"""llama.cpp server: 503 while the model loads, 501 for features that are switched off.

Source: recorded replies of the server in xllamacpp; router mode and sleeping from
tools/server/README.md and ggml-org/llama.cpp#19346 (read, not run).
"""

import math

import msgspec

from proa.domain.fleet import AdapterView, EngineKind, ModelView
from proa.domain.load import EngineLoad
from proa.domain.outcome import Outcome
from proa.engines.base import EngineAdapter, Health
from proa.engines.fields import (
    UNREADABLE,
    count_of_tokens,
    object_at,
    plain_text,
    positive_count,
    truth,
)
from proa.engines.prometheus import Readings
from proa.engines.sources import (
    CancelHabit,
    EngineFacts,
    FactSource,
    LoadSource,
    Probe,
    Reply,
    TokenCount,
)

_LOADING_SIGNS = (b"Loading model", b"unavailable_error")
_RUNNING = "llamacpp:requests_processing"
_WAITING = "llamacpp:requests_deferred"
_PROMPT_TOKENS = "llamacpp:prompt_tokens_total"
_CACHED_TOKENS = "llamacpp:prompt_tokens_cached_total"
_GENERATION_TOKENS = "llamacpp:tokens_predicted_total"
_KV_USE = "llamacpp:kv_cache_usage_ratio"
_ALL = (_RUNNING, _WAITING, _PROMPT_TOKENS, _CACHED_TOKENS, _GENERATION_TOKENS, _KV_USE)


class _Slot(msgspec.Struct):
    n_ctx: int = 0
    is_processing: bool = False


class _LoraAdapter(msgspec.Struct):
    id: int
    path: str = ""


_slots = msgspec.json.Decoder(list[_Slot])
_lora_adapters = msgspec.json.Decoder(list[_LoraAdapter])


def read_metrics(page: bytes, at_s: float) -> EngineLoad | None:
    """The load on the metrics page; `prompt_tokens_total` leaves out cached tokens."""
    readings = Readings(page, _ALL)
    if not readings:
        return None
    computed, cached = readings.total(_PROMPT_TOKENS), readings.total(_CACHED_TOKENS)
    return EngineLoad(
        at_s=at_s,
        running=readings.count(_RUNNING),
        waiting=readings.count(_WAITING),
        kv_use=readings.share(_KV_USE),
        prefix_queries_total=None if computed is None or cached is None else computed + cached,
        prefix_hits_total=cached,
        prompt_tokens_total=computed,
        generation_tokens_total=readings.total(_GENERATION_TOKENS),
    )


def read_slots(body: bytes, at_s: float) -> EngineLoad | None:
    """`/slots`: a slot for each request that may run; it tells nothing of those that wait."""
    try:
        slots = _slots.decode(body)
    except UNREADABLE:
        return None
    if not slots:
        return None
    return EngineLoad(
        at_s=at_s,
        running=sum(slot.is_processing for slot in slots),
        kv_tokens=sum(slot.n_ctx for slot in slots) or None,
        max_running=len(slots),
    )


def read_props(body: bytes) -> EngineFacts | None:
    """`/props`; a server that sleeps answers it too, and is not woken by it."""
    fields = object_at(body)
    if not fields:
        return None
    defaults = object_at(bytes(fields.get("default_generation_settings", b"")))
    slot_tokens = positive_count(defaults.get("n_ctx"))
    slots = positive_count(fields.get("total_slots"))
    return EngineFacts(
        version=plain_text(fields.get("build_info")) or "",
        context_tokens=slot_tokens,
        max_running=slots,
        kv_tokens=slots * slot_tokens if slots and slot_tokens else None,
        is_sleeping=truth(fields.get("is_sleeping")),
    )


def read_lora_adapters(body: bytes) -> EngineFacts | None:
    """`/lora-adapters`; requests name an adapter by its number, so that is its name here."""
    try:
        adapters = _lora_adapters.decode(body)
    except UNREADABLE:
        return None
    return EngineFacts(adapters=tuple(AdapterView(str(adapter.id)) for adapter in adapters))


class LlamaCppAdapter(EngineAdapter):
    """A llama.cpp server; full slots queue without limit and stay healthy."""

    kind = EngineKind.LLAMACPP
    health_probe = Probe("/health")
    load_groups = (
        (
            LoadSource(Probe("/metrics"), read_metrics, is_metrics=True, wakes=True),
            LoadSource(Probe("/slots"), read_slots, wakes=True),
        ),
    )
    fact_sources = (
        FactSource(Probe("/props"), read_props, every_s=0.0),
        FactSource(Probe("/lora-adapters"), read_lora_adapters, every_s=math.inf, wakes=True),
    )
    token_count = TokenCount("/tokenize", "content", count_of_tokens, {"add_special": True})
    # A whole answer's client is looked after when nothing has gone out for a second, to anybody:
    # other streams and polls of /metrics and /slots put that off, until the answer is finished.
    cancel_habit = CancelHabit(stream_s=0.05)
    load_hint = "start it with --metrics"
    load_every_s = 1.5  # so that a second without an answer to anybody comes between two polls

    def groups_for(self, models: tuple[ModelView, ...]) -> tuple[tuple[LoadSource, ...], ...]:
        """None in router mode, where cards have a `status`: asking would load a model."""
        return () if any(_is_routed(model) for model in models) else self.load_groups

    def health(self, reply: Reply) -> Health:
        return Health.LOADING if reply.status == 503 else super().health(reply)

    def outcome(self, status: int, body: bytes) -> Outcome:
        if status == 501:
            return Outcome.CLIENT_FAULT
        if status == 503 and is_loading(body):
            return Outcome.NOT_READY
        return super().outcome(status, body)


def _is_routed(model: ModelView) -> bool:
    card = bytes(model.card)
    return b'"status"' in card and "status" in object_at(card)


def is_loading(body: bytes) -> bool:
    """Whether the body of a 503 says that the model is still being loaded."""
    return any(sign in body for sign in _LOADING_SIGNS)
