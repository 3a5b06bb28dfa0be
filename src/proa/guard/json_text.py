"""JSON as text: where its strings stand, and what they say, without building its values.

Everything is an offset in characters, so that a change touches nothing but its place:
other strings' escapes, numbers of any length, key order and white space stay as they were.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

_syntax = msgspec.json.Decoder(msgspec.Raw).decode
_string = msgspec.json.Decoder(str).decode
_STRUCTURE = re.compile(r'["{}\[\]]')
_COLON = re.compile(r"[ \t\r\n]*:")
_OPENING = re.compile(r"[ \t\r\n]*[{\[]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^u])"
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NOT_A_NUMBER = re.compile(rb"(?<=[:,\[ ])(?:NaN|-?Infinity)(?=[,\]} ])")
_UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)

Path: TypeAlias = tuple[str, ...]


class UnreadableBody(Exception):
    """A body that cannot be searched, and so may not pass; the message holds none of it."""


class JsonPlace(msgspec.Struct, frozen=True, gc=False):
    """A string of a JSON text (the place between its quotes), or a whole object or list.

    `path`: the keys from the outside in, with `[]` for each list on the way. `spots`: of each
    of these lists the position, where numbers and literals don't count.
    """

    start: int
    end: int
    path: Path
    spots: tuple[int, ...]
    is_document: bool = False


def checked(body: bytes, *, is_lenient: bool = False) -> str:
    """The text of a JSON body; a lenient look takes NaN, which some engines write, for a number.

    Raises:
        UnreadableBody: no UTF-8, a byte order mark, no JSON, or nested too deep.
    """
    try:
        text = body.decode()
        _syntax(_NOT_A_NUMBER.sub(b"0", body) if is_lenient and b"N" in body else body)
    except UnicodeDecodeError:
        raise UnreadableBody("the body is not valid UTF-8") from None
    except RecursionError:
        raise UnreadableBody("the body is nested too deeply") from None
    except msgspec.MsgspecError:
        raise UnreadableBody("the body is not valid JSON") from None
    return text


def is_document(text: str) -> bool:
    """Whether a text is itself a JSON object or array, such as a tool's arguments."""
    if _OPENING.match(text) is None:
        return False
    try:
        _syntax(text.encode())
    except _UNREADABLE:
        return False
    return True


def places(text: str, is_whole: Callable[[Path], bool] | None = None) -> Iterator[JsonPlace]:
    """The string values of a valid JSON text in their order; keys are in the paths.

    Objects and lists for whose path `is_whole` holds come as one place.

    Raises:
        UnreadableBody: a key stands twice in one object.
    """
    way = _Way(is_whole)
    at = 0
    while found := _STRUCTURE.search(text, at):
        at = found.end()
        sign = text[at - 1]
        if sign == '"':
            end = _string_end(text, at)
            colon = _COLON.match(text, end + 1)
            if colon is not None:
                way.goes_to(text[at:end])
                at = colon.end()
                continue
            way.next_in_list()
            if not way.whole_depth:
                yield JsonPlace(at, end, tuple(way.path), way.spots)
            at = end + 1
        elif sign in "{[":
            way.goes_in(at - 1, is_list=sign == "[")
        elif way.goes_out():
            yield JsonPlace(way.whole_start, at, tuple(way.path), way.spots, is_document=True)


class _Way:
    """Where in a JSON text the walk is.

    `whole_depth` is how deep the object or list stands, plus one, that is taken as a whole.
    """

    __slots__ = ("_is_whole", "_keys", "_positions", "path", "whole_depth", "whole_start")

    def __init__(self, is_whole: Callable[[Path], bool] | None) -> None:
        self._is_whole = is_whole
        self._keys: list[set[str] | None] = []
        self._positions: list[int] = []
        self.path: list[str] = []
        self.whole_depth = 0
        self.whole_start = 0

    @property
    def spots(self) -> tuple[int, ...]:
        return tuple(at for at, key in zip(self._positions, self._keys, strict=True) if key is None)

    def next_in_list(self) -> None:
        if self._positions:
            self._positions[-1] += 1

    def goes_to(self, raw_key: str) -> None:
        key, seen = decoded(raw_key), self._keys[-1]
        if seen is None or key in seen:
            raise UnreadableBody("a key stands twice in one object of the body")
        seen.add(key)
        self.path[-1] = key

    def goes_in(self, at: int, *, is_list: bool) -> None:
        self.next_in_list()
        if self._is_whole and not self.whole_depth and self._is_whole(tuple(self.path)):
            self.whole_depth = len(self.path) + 1
            self.whole_start = at
        self.path.append("[]" if is_list else "")
        self._keys.append(None if is_list else set())
        self._positions.append(-1)

    def goes_out(self) -> bool:
        """Whether it was the whole one that ended here."""
        self.path.pop()
        self._keys.pop()
        self._positions.pop()
        if self.whole_depth != len(self.path) + 1:
            return False
        self.whole_depth = 0
        return True


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """The places of all strings of a valid JSON text, keys included, between their quotes."""
    spans = []
    at = text.find('"')
    while at >= 0:
        end = _string_end(text, at + 1)
        spans.append((at + 1, end))
        at = text.find('"', end + 1)
    return spans


def _string_end(text: str, at: int) -> int:
    """Where the quote is that ends the string whose content begins at `at`."""
    while True:
        end = text.index('"', at)
        slashes = end
        while slashes > at and text[slashes - 1] == "\\":
            slashes -= 1
        if (end - slashes) % 2 == 0:
            return end
        at = end + 1


def decoded(raw: str) -> str:
    """What the content of a JSON string says.

    Raises:
        UnreadableBody: half of a surrogate pair.
    """
    if "\\" not in raw:
        return raw
    try:
        return _string(f'"{raw}"'.encode())
    except _UNREADABLE:
        raise UnreadableBody("a string of the body holds half of a surrogate pair") from None


def encoded(text: str) -> str:
    """How a text is written inside the quotes of a JSON string."""
    return msgspec.json.encode(text)[1:-1].decode()


class Unescaped:
    """What a text with JSON escapes says, and where each of its characters is written.

    A whole JSON document may be given, too: there escapes stand in its strings only.
    """

    __slots__ = ("_lost", "_places", "_raw", "text")

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._places: list[int] | None = None
        self._lost: list[int] = []
        self.text = _ESCAPE.sub(_said, raw) if "\\" in raw else raw

    def raw_offset(self, offset: int) -> int:
        """Where the character `offset` of what is said begins in what is written."""
        if self.text is self._raw:
            return offset
        if self._places is None:
            self._places = list(self._note_escapes())
        count = bisect_left(self._places, offset)
        return offset + (self._lost[count - 1] if count else 0)

    def _note_escapes(self) -> Iterator[int]:
        lost = 0
        for escape in _ESCAPE.finditer(self._raw):
            yield escape.start() - lost
            lost += escape.end() - escape.start() - 1
            self._lost.append(lost)


def _said(escape: re.Match[str]) -> str:
    sign = escape[0][1]
    if sign != "u":
        return _SIMPLE.get(sign, sign)
    return _string(f'"{escape[0]}"'.encode())
