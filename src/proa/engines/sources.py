"""Where an engine tells about itself: what to ask, and how to read the answer.

Pure descriptions. Who asks is control/, which also leaves out a source that an engine
does not have, and asks the next of its group instead.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from proa.domain.fleet import AdapterView
from proa.domain.load import EngineLoad

ReadLoad = Callable[[bytes, float], EngineLoad | None]


class Probe(msgspec.Struct, frozen=True):
    """One request to an engine; it must cost the engine nothing and wake nothing."""

    path: str
    method: str = "GET"
    body: bytes = b""


class Reply(msgspec.Struct, frozen=True):
    """What an engine answered to a probe."""

    status: int
    body: bytes


class LoadSource(msgspec.Struct, frozen=True):
    """An answer that tells the load; `read` gets its body and when it came.

    `read` gives None where the body tells nothing. A metrics page may be elsewhere than
    the engine's API. What `wakes` is not asked of an engine that sleeps.
    """

    probe: Probe
    read: ReadLoad
    is_metrics: bool = False
    wakes: bool = False


class EngineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What changes rarely. None and empty are "it does not say".

    `context_tokens` holds for all models, `contexts` for single ones. `max_running` is how
    many requests the engine says that it takes at one time, `kv_tokens` their room together.
    """

    version: str = ""
    context_tokens: int | None = None
    contexts: dict[str, int] = {}
    max_running: int | None = None
    kv_tokens: int | None = None
    is_sleeping: bool | None = None
    adapters: tuple[AdapterView, ...] | None = None
    flags: dict[str, str | int | float | bool] = {}


class FactSource(msgspec.Struct, frozen=True):
    """An answer that tells facts, asked for at most every `every_s` seconds."""

    probe: Probe
    read: Callable[[bytes], EngineFacts | None]
    every_s: float = 5.0
    wakes: bool = False


class TokenCount(msgspec.Struct, frozen=True):
    """A request that counts a text's tokens, as the engine's own tokenizer does.

    `text_field` of the body takes the text; the chat template is not applied.
    """

    path: str
    text_field: str
    read: Callable[[bytes], int | None]
    more: dict[str, bool] = {}

    def probe(self, model: str, text: str) -> Probe:
        """The request for one text."""
        body = {"model": model, self.text_field: text, **self.more}
        return Probe(self.path, "POST", msgspec.json.encode(body))


class CancelHabit(msgspec.Struct, frozen=True):
    """Seconds until an engine notices that its client has gone, None where not measured.

    Until then the request holds its place in the engine.
    """

    stream_s: float | None = None
    whole_s: float | None = None


def merged_load(parts: Sequence[EngineLoad]) -> EngineLoad | None:
    """One load out of several answers: of each value the first that is known."""
    if not parts:
        return None
    known = _first_known(parts) | {"at_s": min(part.at_s for part in parts)}
    return msgspec.structs.replace(parts[0], **known)


def merged_facts(parts: Sequence[EngineFacts]) -> EngineFacts:
    """All facts out of several answers: of each the first that is known."""
    return EngineFacts(**_first_known(parts))


def _first_known(parts: Sequence[msgspec.Struct]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for part in reversed(parts):
        fields = ((name, getattr(part, name)) for name in part.__struct_fields__)
        known |= {name: value for name, value in fields if value not in (None, "", {})}
    return known
