"""What a request asks for: its model, whether it streams, and the text of its prompt."""

import msgspec

from proa.domain.lengths import UNLIMITED
from proa.routing.tokens import Features
from proa.wire.fields import (
    RequestFields,
    multipart_model,
    read_fields,
    replace_model,
    replace_multipart_model,
)
from proa.wire.request_head import RequestHead
from proa.wire.surface import ModelPlace, Surface, triton_model

_BRACE = ord("{")
_BEGIN_BYTES = 1024
_IN_PATH = ModelPlace.PATH


class Asked(msgspec.Struct, gc=False):
    """The peek at one request. `target` is the path with its query, as it goes upstream."""

    path: str
    target: bytes
    model: str | None = None
    stream: bool = False
    max_tokens: int | None = None
    features: Features | None = None

    def headers(self, head: RequestHead, names: frozenset[str]) -> dict[str, str]:
        """The headers that rules match on."""
        found = {}
        for line in head.lines:
            name, _, value = line.partition(b": ")
            key = name.decode("latin-1").lower()
            if key in names:
                found[key] = value[:-2].decode("latin-1")
        for key_bytes, value in head.fields.items():
            key = key_bytes.decode("latin-1")
            if key in names:
                found[key] = value.decode("latin-1")
        return found

    def rewrite_path(self, path: str) -> None:
        """Send to another path; the query stays."""
        query = self.target.partition(b"?")
        self.target = path.encode() + query[1] + query[2]

    def with_model(self, body: bytes, model: str, surface: Surface) -> bytes | None:
        """The body that asks for `model`; None when it can't be written."""
        if surface.model_place is ModelPlace.MULTIPART:
            return replace_multipart_model(body, model)
        return replace_model(body, model) if surface.model_place is ModelPlace.BODY else None


def ask(head: RequestHead, body: bytes, surface: Surface) -> Asked:
    """Read the few fields that routing needs; an unreadable body asks for nothing."""
    if surface.model_place is _IN_PATH:
        stream = head.path.endswith(b"/generate_stream")
        return Asked(head.path_text, head.target, triton_model(head.path), stream)
    if body and (body[0] == _BRACE or body.lstrip()[:1] == b"{"):
        return _of_fields(head, read_fields(body))
    model = None
    if body and head.fields.get(b"content-type", b"").startswith(b"multipart/"):
        model = multipart_model(body)
    return Asked(head.path_text, head.target, model)


def asked_of(
    head: RequestHead, surface: Surface, body: bytes, fields: RequestFields,
    features: Features | None,
) -> Asked:  # fmt: skip
    """The same of a JSON body that somebody else has read."""
    if surface.model_place is _IN_PATH or body[:_BEGIN_BYTES].lstrip()[:1] != b"{":
        return ask(head, body, surface)
    asked = _of_fields(head, fields)
    asked.features = features
    return asked


def _of_fields(head: RequestHead, fields: RequestFields) -> Asked:
    limit = fields.max_tokens or fields.max_completion_tokens or fields.max_output_tokens
    if limit is not None and not 0 < limit < UNLIMITED:
        limit = UNLIMITED if limit > 0 else None
    return Asked(head.path_text, head.target, fields.model, fields.stream is True, limit)
