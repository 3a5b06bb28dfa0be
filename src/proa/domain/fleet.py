"""Engines as they are asked for (`EngineSpec`) and as they were last seen (`EngineView`)."""

from enum import StrEnum

import msgspec

from proa.domain.dialect import TritonFields
from proa.domain.reach import ANYWHERE, Reach


class EngineKind(StrEnum):
    """The program behind an engine's address; `AUTO` asks the engine itself."""

    AUTO = "auto"
    VLLM = "vllm"
    SGLANG = "sglang"
    TGI = "tgi"
    TRITON = "triton"
    LLAMACPP = "llamacpp"
    OLLAMA = "ollama"
    OPENAI = "openai"


class EngineState(StrEnum):
    """What the control plane last learned about an engine.

    `UNKNOWN` (never asked yet) may receive traffic; `LOADING`, `SLEEPING`, `UNREACHABLE`
    and `DRAINING` may not. A sleeping engine has given up its memory; proa never wakes one.
    """

    UNKNOWN = "unknown"
    LOADING = "loading"
    READY = "ready"
    SLEEPING = "sleeping"
    UNREACHABLE = "unreachable"
    DRAINING = "draining"

    @property
    def takes_traffic(self) -> bool:
        return self in (EngineState.READY, EngineState.UNKNOWN)


class EngineTls(msgspec.Struct, frozen=True, kw_only=True):
    """`[[engines]] tls`: absolute paths of PEM files, empty for none.

    `digest` is of the files' content when they were read last, so that other content
    makes another value.
    """

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    digest: str = ""


class EngineSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[engines]]` entry.

    `url` has no trailing slash; schemes http, https and unix
    (`unix:/path/to.sock`). `api_key` is the resolved secret, empty for none.
    `metrics_url` is where its metrics are if not on `url`, path included. `gpu` is an id
    of the catalogue. `kv_events` is where ZeroMQ publishes its KV events, empty for nowhere.
    `max_concurrent_requests` 0 leaves the limit to what is learned.
    `lacks` are the paths whose requests are translated for it; None: by its kind.
    `reach` is where names of `url` and `metrics_url` may lead.
    """

    name: str
    url: str
    kind: EngineKind = EngineKind.AUTO
    models: tuple[str, ...] = ()
    server: str = ""
    weight: float = 1.0
    api_key: str = ""
    metrics_url: str = ""
    kv_events: str = ""
    gpu: str = ""
    max_concurrent_requests: int = 0
    lacks: tuple[str, ...] | None = None
    chat_template: str = "plain"
    triton: TritonFields = TritonFields()
    tls: EngineTls = EngineTls()
    reach: Reach = ANYWHERE

    def __repr__(self) -> str:
        return f"EngineSpec(name={self.name!r}, url={self.url!r}, kind={self.kind.value!r})"


class ModelView(msgspec.Struct, frozen=True):
    """A model that an engine serves; `card` is the engine's own JSON object for it.

    `context_tokens` is the longest prompt and answer together, None when the engine does
    not say. `parent` names the base model of a LoRA adapter that is served as a model.
    """

    id: str
    card: msgspec.Raw
    context_tokens: int | None = None
    parent: str | None = None


class AdapterView(msgspec.Struct, frozen=True):
    """A LoRA adapter that an engine has loaded; `parent` is its base model where told."""

    name: str
    parent: str | None = None


class EngineView(msgspec.Struct, frozen=True, kw_only=True):
    """One engine at one moment.

    `models` is the last list that the engine gave, kept while it is away;
    `models_known` is false until a first list came. `ready_since_s` is on the
    monotonic clock of this machine, for the slow start. `max_running` is how many
    requests the engine says that it takes at one time; `flags` are settings of its
    start that it tells. `adapters` is None where the engine does not tell them.
    """

    name: str
    kind: EngineKind
    state: EngineState
    models: tuple[ModelView, ...] = ()
    models_known: bool = False
    ready_since_s: float = 0.0
    detail: str = ""
    version: str = ""
    max_running: int | None = None
    adapters: tuple[AdapterView, ...] | None = None
    flags: dict[str, str | int | float | bool] = {}


class FleetView(msgspec.Struct, frozen=True):
    """All engines at one moment; `sequence` grows by one with each published view."""

    sequence: int
    engines: tuple[EngineView, ...]

    def engine(self, name: str) -> EngineView | None:
        return next((e for e in self.engines if e.name == name), None)
