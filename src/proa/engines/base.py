"""The adapter that every engine kind starts from: an OpenAI-compatible server.

An adapter says what to ask and what an answer means; it never asks. One stateless
object serves all engines of its kind.
"""

from enum import Enum, auto

from proa.domain.fleet import EngineKind, ModelView
from proa.domain.outcome import Outcome
from proa.engines.models import openai_models
from proa.engines.sources import (
    CancelHabit,
    FactSource,
    LoadSource,
    Probe,
    Reply,
    TokenCount,
)


class Health(Enum):
    """What one probe says.

    `DOWN` is certain (connection refused, an engine that calls itself dead);
    `MISSED` is not (no answer in time, an unexpected status): several in a row
    are needed to believe it.
    """

    UP = auto()
    LOADING = auto()
    DOWN = auto()
    MISSED = auto()


MODELS_PROBE = Probe("/v1/models")
_KEY_REFUSED = (401, 403)


class EngineAdapter:
    """The dialect of an OpenAI-compatible server, and the base of all others.

    `health_probe` equal to `models_probe` means that one request answers both.

    Each of `load_groups` is asked at every poll, but `load_every_s` apart at least: of a
    group the first source that the engine has; what several tell is put together.
    `wakes_on_request` is false for an engine that sleeps until somebody wakes it.
    `load_hint` says how the engine is brought to tell its load. `token_count` and
    `cancel_habit` are facts about the kind.
    """

    kind = EngineKind.OPENAI
    health_probe = MODELS_PROBE
    models_probe = MODELS_PROBE
    load_groups: tuple[tuple[LoadSource, ...], ...] = ()
    fact_sources: tuple[FactSource, ...] = ()
    token_count: TokenCount | None = None
    cancel_habit = CancelHabit()
    wakes_on_request = True
    load_hint = ""
    load_every_s = 0.0

    def health(self, reply: Reply) -> Health:
        """A 401, 403, 404 or 405 is up: the clients may hold the key, and not all list models."""
        return Health.MISSED if reply.status >= 500 else Health.UP

    def models(self, reply: Reply) -> tuple[ModelView, ...] | None:
        """The models in a reply to `models_probe`; None when the reply holds no list."""
        return openai_models(reply.body) if reply.status == 200 else None

    def groups_for(self, models: tuple[ModelView, ...]) -> tuple[tuple[LoadSource, ...], ...]:
        """The `load_groups` that may be asked while the engine has these models."""
        del models
        return self.load_groups

    def outcome(self, status: int, body: bytes) -> Outcome:
        """The class of a response that the engine gave, whole body included."""
        del body
        if status < 400:
            return Outcome.OK
        if status in (429, 503):
            return Outcome.BUSY
        if status == 499:
            return Outcome.CANCELLED
        if status in (408, 424) or status >= 500:
            return Outcome.BROKEN
        return Outcome.CLIENT_FAULT


def key_refused(reply: Reply) -> bool:
    """Whether the engine wants another API key than ours."""
    return reply.status in _KEY_REFUSED
