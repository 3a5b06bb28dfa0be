"""The APIs that the router knows, by path: where the model is named and how errors look."""

from enum import Enum

import msgspec


class Api(Enum):
    """Whose conventions a path follows, for errors and for the end of a stream."""

    OPENAI = "openai"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"
    TRITON = "triton"
    OTHER = "other"


class ModelPlace(Enum):
    """Where a request names its model."""

    BODY = "body"
    MULTIPART = "multipart"
    PATH = "path"


class Surface(msgspec.Struct, frozen=True):
    """One known kind of path.

    `end_marks`: a stream that ends without any of these byte strings in its last
    events was cut; empty where the API has no such mark. `translation_bit` tells the
    paths apart whose requests are translated for engines that lack them.
    """

    api: Api
    model_place: ModelPlace = ModelPlace.BODY
    end_marks: tuple[bytes, ...] = ()
    translation_bit: int = 0


def _field(name: bytes, value: bytes) -> tuple[bytes, ...]:
    """A JSON field with and without a space; generated text has its quotes escaped."""
    return b'"%b":"%b' % (name, value), b'"%b": "%b' % (name, value)


_DONE = (b"data: [DONE]", b"data:[DONE]")
_FINISHED = (*_DONE, *_field(b"finish_reason", b""))
_OPENAI = Surface(Api.OPENAI)
_CHAT = Surface(Api.OPENAI, end_marks=_FINISHED, translation_bit=1)
_COMPLETIONS = Surface(Api.OPENAI, end_marks=_FINISHED, translation_bit=2)
_RESPONSES = Surface(
    Api.RESPONSES,
    end_marks=(
        *_field(b"type", b"response.completed"),
        *_field(b"type", b"response.incomplete"),
        *_field(b"type", b"response.failed"),
        *_DONE,
    ),
)
_MESSAGES = Surface(Api.ANTHROPIC, end_marks=_field(b"type", b"message_stop"), translation_bit=4)
_COUNT_TOKENS = Surface(Api.ANTHROPIC, translation_bit=8)
_AUDIO = Surface(Api.OPENAI, ModelPlace.MULTIPART)
_OLLAMA = Surface(Api.OLLAMA, end_marks=(b'"done":true', b'"done": true', b'"status":"success"'))
_TRITON = Surface(Api.TRITON, ModelPlace.PATH)
OTHER = Surface(Api.OTHER)

_EXACT = {
    b"/v1/chat/completions": _CHAT,
    b"/v1/completions": _COMPLETIONS,
    b"/v1/embeddings": _OPENAI,
    b"/v1/responses": _RESPONSES,
    b"/v1/rerank": _OPENAI,
    b"/v1/score": _OPENAI,
    b"/v1/messages": _MESSAGES,
    b"/v1/messages/count_tokens": _COUNT_TOKENS,
    b"/tokenize": _OPENAI,
    b"/detokenize": _OPENAI,
    b"/api/chat": _OLLAMA,
    b"/api/generate": _OLLAMA,
} | dict.fromkeys(
    (b"/api/tags", b"/api/show", b"/api/ps", b"/api/version", b"/api/embed", b"/api/embeddings",
     b"/api/create", b"/api/copy", b"/api/delete", b"/api/pull", b"/api/push"),
    Surface(Api.OLLAMA),
)  # fmt: skip
_PREFIXES = (
    (b"/v1/audio/", _AUDIO),
    (b"/v2/models/", _TRITON),
    (b"/v2/", Surface(Api.TRITON)),
    (b"/api/blobs/", Surface(Api.OLLAMA)),
    (b"/v1/", _OPENAI),
)


def surface_of(path: bytes) -> Surface:
    """The surface of a path (without its query)."""
    found = _EXACT.get(path)
    if found is not None:
        return found
    for prefix, surface in _PREFIXES:
        if path.startswith(prefix):
            return surface
    return OTHER


def triton_model(path: bytes) -> str | None:
    """NAME in `/v2/models/NAME/...`."""
    name = path[len(b"/v2/models/") :].split(b"/", 1)[0]
    return name.decode("ascii", "replace") if name and name != b"stats" else None
