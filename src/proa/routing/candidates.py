"""Which engines of a fleet fit a request, as index sets that are computed once per view."""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from proa.domain.fleet import EngineKind, EngineView, FleetView
from proa.routing.spec import AdapterSpec

OLLAMA_PATHS = frozenset(
    f"/api/{verb}"
    for verb in ("chat", "generate", "tags", "embed", "embeddings", "ps", "show", "version")
)


class PathFamily(IntEnum):
    """Whose protocol a path belongs to."""

    OTHER = 0
    TRITON = 1
    OLLAMA = 2
    TEXT = 3


TEXT_PATHS = frozenset(
    f"/v1/{name}"
    for name in ("chat/completions", "completions", "messages", "messages/count_tokens")
)
"""What is translated for engines that have an API of their own only."""

LOADING_KINDS = frozenset((EngineKind.VLLM, EngineKind.SGLANG))
"""Engines that load and unload LoRA adapters while they run."""

EMPTY: Mapping[str, AdapterSpec] = {}
_KIND_OF = {PathFamily.TRITON: EngineKind.TRITON, PathFamily.OLLAMA: EngineKind.OLLAMA}


def path_family(path: str) -> PathFamily:
    """The family of a path as it goes upstream."""
    if path.startswith("/v2/"):
        return PathFamily.TRITON
    if path in TEXT_PATHS:
        return PathFamily.TEXT
    return PathFamily.OLLAMA if path in OLLAMA_PATHS else PathFamily.OTHER


class Catalogue:
    """A fleet's models and their qualities, in the form that candidates are looked up in."""

    def __init__(
        self,
        fleet: FleetView,
        qualities: dict[str, float],
        loadable: Mapping[str, AdapterSpec] = EMPTY,
    ) -> None:
        self.engines = fleet.engines
        self.qualities = qualities
        self.listed = tuple(_listed(engine) for engine in fleet.engines)
        self.all_models = frozenset(loadable).union(*self.listed)
        self._loadable = loadable
        self.adapters = frozenset(loadable).union(*map(_adapters, fleet.engines))

    def serves(self, index: int, model: str | None) -> bool:
        """Whether the engine has the model, or may have it as its list is not known.

        An engine that can load a configured adapter has it where it has the base model.
        """
        engine, listed = self.engines[index], self.listed[index]
        if model is None or not engine.models_known or model in listed:
            return True
        adapter = self._loadable.get(model)
        return adapter is not None and engine.kind in LOADING_KINDS and adapter.model in listed

    def contexts(self, indexes: Iterable[int], model: str | None) -> dict[int, int]:
        """Tokens of context by engine, of the model or of its largest; not where not known.

        An adapter has the context of its base model.
        """
        adapter = None if model is None else self._loadable.get(model)
        found = {}
        for index in indexes:
            models = self.engines[index].models
            names = {model, *(known.parent for known in models if known.id == model)}
            if adapter is not None:
                names.add(adapter.model)
            told = [
                known.context_tokens
                for known in models
                if known.context_tokens and (model is None or known.id in names)
            ]
            if told:
                found[index] = max(told)
        return found

    def reaches(self, index: int, model: str | None, min_quality: float) -> bool:
        """Whether the model that the engine would use is known to be good enough.

        A request whose model is not known may use any of the engine's.
        """
        listed = [known.id for known in self.engines[index].models]
        used = listed if model is None else [model]
        return bool(used) and all(
            self.qualities.get(name, float("-inf")) >= min_quality for name in used
        )

    def fitting(self, indexes: list[int], family: PathFamily, model: str | None) -> list[int]:
        """Those that speak the path's protocol or are translated for, or all if none is known to.

        Engines that are away count too: a Triton request waits for Triton's return
        rather than going to an engine that would answer 404. Triton gets translated
        requests for models that it lists.
        """
        if family in (PathFamily.OTHER, PathFamily.TEXT):
            translated = family is PathFamily.TEXT
            chosen = [
                i for i in indexes
                if self.engines[i].kind is not EngineKind.TRITON
                or (translated and model in self.listed[i])
            ]  # fmt: skip
        else:
            chosen = [i for i in indexes if self.engines[i].kind is _KIND_OF[family]]
        return chosen or indexes


def _adapters(engine: EngineView) -> list[str]:
    names = [adapter.name for adapter in engine.adapters or ()]
    return names + [model.id for model in engine.models if model.parent is not None]


def _listed(engine: EngineView) -> frozenset[str]:
    names = {model.id for model in engine.models}
    if engine.kind is EngineKind.OLLAMA:  # "llama3" means "llama3:latest" there
        names |= {name.removesuffix(":latest") for name in names}
    return frozenset(names)
