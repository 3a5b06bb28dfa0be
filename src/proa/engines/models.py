"""Model lists: the engine's own JSON objects, and the names that they are served under."""

from collections.abc import Iterable, Iterator

import msgspec

from proa.domain.fleet import ModelView
from proa.engines.fields import object_at, positive_count
from proa.engines.sources import EngineFacts

_VOLATILE = ("created", "permission", "modified_at", "expires_at")
"""Fields that vLLM, SGLang and llama.cpp fill anew at every call."""


class _OpenAiList(msgspec.Struct):
    data: list[msgspec.Raw] | None


class _OllamaList(msgspec.Struct):
    models: list[msgspec.Raw] | None


class _OpenAiCard(msgspec.Struct):
    """`max_model_len` is of vLLM and SGLang, `meta` of llama.cpp, `parent` of adapters."""

    id: str
    aliases: list[str] | None = None
    max_model_len: object = None
    context_length: object = None
    meta: msgspec.Raw = msgspec.Raw(b"")
    parent: object = None

    @property
    def context_tokens(self) -> int | None:
        stated = (self.max_model_len, self.context_length)
        plain = (n for n in stated if isinstance(n, int) and not isinstance(n, bool) and n > 0)
        return next(plain, None) or positive_count(object_at(bytes(self.meta)).get("n_ctx"))


class _OllamaCard(msgspec.Struct):
    name: str = ""
    model: str = ""


class _TritonEntry(msgspec.Struct):
    name: str
    state: str = ""


class _OwnedCard(msgspec.Struct):
    id: str = ""
    owned_by: str = ""


_openai_list = msgspec.json.Decoder(_OpenAiList)
_openai_card = msgspec.json.Decoder(_OpenAiCard)
_ollama_list = msgspec.json.Decoder(_OllamaList)
_ollama_card = msgspec.json.Decoder(_OllamaCard)
_owned_card = msgspec.json.Decoder(_OwnedCard)
_raw_list = msgspec.json.Decoder(list[msgspec.Raw])
_triton_entry = msgspec.json.Decoder(_TritonEntry)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])

_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def with_contexts(models: tuple[ModelView, ...], facts: EngineFacts) -> tuple[ModelView, ...]:
    """The models with what else is known of their context: an adapter's is its base's."""
    known = {model.id: model.context_tokens for model in models if model.context_tokens}
    known = facts.contexts | known

    def context(model: ModelView) -> int | None:
        of_base = known.get(model.parent) if model.parent is not None else None
        return known.get(model.id) or of_base or facts.context_tokens

    return tuple(msgspec.structs.replace(m, context_tokens=context(m)) for m in models)


def openai_models(body: bytes) -> tuple[ModelView, ...] | None:
    """`{"data": [{"id", ...}]}`; a llama.cpp server's `aliases` are served names too.

    The card of an alias is the model's with the alias as its id.
    """
    try:
        cards = _openai_list.decode(body).data or []
        return _unique(view for card in cards for view in _openai_views(card))
    except _UNREADABLE:
        return None


def ollama_models(body: bytes) -> tuple[ModelView, ...] | None:
    """`{"models": [{"name", ...}]}` of `/api/tags`; `x:latest` is also served as `x`."""
    try:
        cards = _ollama_list.decode(body).models or []
        return _unique(view for card in cards for view in _ollama_views(card))
    except _UNREADABLE:
        return None


def triton_models(body: bytes) -> tuple[ModelView, ...] | None:
    """The ready entries of a repository index, a name once whatever its versions."""
    try:
        entries = [(_triton_entry.decode(raw), raw) for raw in _raw_list.decode(body)]
    except _UNREADABLE:
        return None
    return _unique(ModelView(e.name, _owned(raw)) for e, raw in entries if e.state == "READY")


def owners(body: bytes) -> list[tuple[str, str]] | None:
    """`(id, owned_by)` of each model in an OpenAI list, None where there is no list."""
    try:
        cards = [_owned_card.decode(raw) for raw in _openai_list.decode(body).data or []]
    except _UNREADABLE:
        return None
    return [(card.id, card.owned_by) for card in cards]


def same_models(old: tuple[ModelView, ...], new: tuple[ModelView, ...]) -> bool:
    """Whether two lists say the same, apart from fields that change at every call."""
    if [m.id for m in old] != [m.id for m in new]:
        return False
    return all(
        a.card == b.card or _stable(a.card) == _stable(b.card)
        for a, b in zip(old, new, strict=True)
    )


def bare_model(name: str) -> ModelView:
    """A model of which only the configured name is known."""
    return ModelView(name, msgspec.Raw(msgspec.json.encode({"id": name, "object": "model"})))


def _stable(card: msgspec.Raw) -> dict[str, bytes]:
    fields = _fields.decode(card)
    return {key: bytes(raw) for key, raw in fields.items() if key not in _VOLATILE}


def _openai_views(raw: msgspec.Raw) -> Iterator[ModelView]:
    card = _openai_card.decode(raw)
    parent = card.parent if isinstance(card.parent, str) else None
    yield ModelView(card.id, _owned(raw), card.context_tokens, parent)
    for alias in card.aliases or ():
        if alias != card.id:
            yield ModelView(alias, _renamed(raw, alias), card.context_tokens, parent)


def _ollama_views(raw: msgspec.Raw) -> Iterator[ModelView]:
    card = _ollama_card.decode(raw)
    name = card.name or card.model
    yield ModelView(name, _owned(raw))
    if name.endswith(":latest"):
        yield ModelView(name.removesuffix(":latest"), _owned(raw))


def _renamed(raw: msgspec.Raw, name: str) -> msgspec.Raw:
    fields = _fields.decode(raw)
    fields["id"] = msgspec.Raw(msgspec.json.encode(name))
    return msgspec.Raw(msgspec.json.encode(fields))


def _owned(raw: msgspec.Raw) -> msgspec.Raw:
    """A copy that does not keep the whole reply alive."""
    return msgspec.Raw(bytes(raw))


def _unique(views: Iterable[ModelView]) -> tuple[ModelView, ...]:
    first: dict[str, ModelView] = {}
    for view in views:
        if view.id:
            first.setdefault(view.id, view)
    return tuple(first.values())
