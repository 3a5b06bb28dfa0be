"""All texts of a request's body, one after the other, and what else the walk comes across."""

import re
from collections.abc import Iterator

from proa.guard.body_text import BodyText, DocumentText, PlainText, string_text
from proa.guard.json_text import Path, UnreadableBody, checked, decoded
from proa.guard.json_text import places as places_in
from proa.guard.multipart import parts
from proa.guard.places import Places, places_of

_DATA = re.compile(r"(?:data|https?|file):|[A-Za-z0-9+/_=-]{64}")
_DATA_URL = re.compile(r"data:[\w.+/-]{0,80};base64,[A-Za-z0-9+/_=-]*$", re.ASCII)
_PLAIN_TOOLS = frozenset(("function", "custom"))


class _Kind:
    """What a path is, by what stands above it, too."""

    __slots__ = ("is_kept", "is_media", "is_tool")

    def __init__(self, known: Places, path: Path) -> None:
        above = {path[:count] for count in range(1, len(path) + 1)}
        self.is_kept = not above.isdisjoint(known.kept)
        self.is_media = not above.isdisjoint(known.media)
        self.is_tool = path in known.tools


class BodyTexts:
    """Iterate to get the texts; the rest is complete after the last one.

    `text` is the whole body with the characters that hits count: those of JSON, or the bytes
    of a form (`codec` tells). `tools`: the names of the tools that the request offers.
    """

    __slots__ = (
        "_body", "_content_type", "_kinds", "_media_type", "_places", "codec", "has_media",
        "text", "tools",
    )  # fmt: skip

    def __init__(self, path: bytes, body: bytes, content_type: bytes = b"") -> None:
        self._places = places_of(path)
        self._body = body
        self._content_type = content_type.strip()
        self._media_type = self._content_type[:64].lower()
        self._kinds: dict[Path, _Kind] = {}
        self.has_media = False
        self.tools: list[str] = []
        self.text = ""
        self.codec = "utf-8"

    def __iter__(self) -> Iterator[BodyText]:
        """
        Raises:
            UnreadableBody: the body is neither JSON nor a form, nor said to be text.
        """
        if not self._body or self._places.is_opaque:
            return iter(())
        if self._media_type.startswith(b"multipart/form-data"):
            return self._in_form()
        try:
            self.text = checked(self._body)
        except UnreadableBody:
            if not self._media_type.startswith(b"text/"):
                raise
            return self._as_it_is()
        return self._in_json()

    def _as_it_is(self) -> Iterator[BodyText]:
        try:
            self.text = self._body.decode()
        except UnicodeDecodeError:
            raise UnreadableBody("the body is not valid UTF-8") from None
        yield PlainText(self.text)

    def _in_form(self) -> Iterator[BodyText]:
        self.codec = "latin-1"
        self.text = self._body.decode("latin-1")
        for part in parts(self._body, self._content_type):
            if part.is_media:
                self.has_media = True
            elif (part.name.decode("latin-1"),) not in self._places.kept:
                value = self._body[part.start : part.end]
                try:
                    text = value.decode()
                except UnicodeDecodeError:
                    raise UnreadableBody("a field of the form is not valid UTF-8") from None
                yield PlainText(text, part.start, in_bytes=True)

    def _in_json(self) -> Iterator[BodyText]:
        text = self.text
        for place in places_in(text, self._places.documents.__contains__):
            if place.is_document:
                yield DocumentText(text[place.start : place.end], place.start)
                continue
            kind = self._kind(place.path)
            raw = text[place.start : place.end]
            if kind.is_tool and raw not in _PLAIN_TOOLS:
                self.tools.append(decoded(raw))
            if kind.is_media and (place.path[-1] == "file_id" or _DATA.match(raw)):
                self.has_media = True
            elif not kind.is_kept and not _DATA_URL.match(raw):
                yield string_text(raw, place.start)

    def _kind(self, path: Path) -> _Kind:
        kind = self._kinds.get(path)
        if kind is None:
            kind = self._kinds[path] = _Kind(self._places, path)
        return kind
