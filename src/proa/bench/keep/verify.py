"""A report against the file that it was made of: every number again, to the last digit."""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from proa.errors import InputError

DATA_ID = "proa-bench-data"
"""The id of the script element of a page that holds its document."""
_MOST_SHOWN = 80
_OWN_KEYS = {"levels", "runs", "verdict"}
_HIDDEN = ("script", "style")
_PLACES = ("points", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "aria-label")
_OPENS = re.compile(rf'<script[^>]*\bid="{DATA_ID}"[^>]*>', re.IGNORECASE)


class Difference(msgspec.Struct, frozen=True):
    """A place of the report, what it says there, and what the file gives."""

    where: str
    told: str
    found: str


def read_report(path: Path) -> Any:
    """The document in a report of JSON or HTML.

    Raises:
        InputError: it cannot be read, or is no report of proa bench.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    if text.lstrip()[:1] == "<":
        text = _data_of_page(text, path)
    try:
        document = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: no report of proa bench ({error})") from None
    if not isinstance(document, dict) or not (_OWN_KEYS & document.keys()):
        raise InputError(
            f"{path}: no report of proa bench: it has neither levels, runs nor a verdict"
        )
    return document


def differences(told: Any, found: Any, where: str = "") -> Iterator[Difference]:
    """All places where two documents are not the same, by their path (`levels[2].ttft_s.p95`)."""
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        for key in dict.fromkeys([*told, *found]):
            path = f"{where}.{key}" if where else str(key)
            yield from _inner(told, found, key, path)
    elif isinstance(told, list) and isinstance(found, list):
        for index in range(max(len(told), len(found))):
            sides = (_at(told, index), _at(found, index))
            yield from differences(*sides, f"{where}[{index}]")
    elif not _same(told, found):
        yield Difference(where, _shown(told), _shown(found))


def _inner(
    told: Mapping[str, Any], found: Mapping[str, Any], key: str, path: str
) -> Iterator[Difference]:
    if key not in told or key not in found:
        sides = (_shown(side[key]) if key in side else "nothing" for side in (told, found))
        yield Difference(path, *sides)
    else:
        yield from differences(told[key], found[key], path)


def _at(side: list[Any], index: int) -> Any:
    return side[index] if index < len(side) else "nothing"


def _same(told: Any, found: Any) -> bool:
    """JSON writes 24.0 and 24 as different texts of one number; true is no number."""
    if isinstance(told, bool) or isinstance(found, bool):
        return told is found
    return bool(told == found)


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _data_of_page(text: str, path: Path) -> str:
    found = _OPENS.search(text)
    end = -1 if found is None else text.find("</script>", found.end())
    if found is None or end < 0:
        raise InputError(f"{path}: no report of proa bench: it holds no data")
    return text[found.end() : end].replace("<\\/", "</")


def as_json(value: Any) -> Any:
    """A document as it is once it was written and read again."""
    return msgspec.json.decode(msgspec.json.encode(value))


def count_values(told: Any) -> int:
    """How many values a document holds, null ones too."""
    if isinstance(told, Mapping):
        return sum(map(count_values, told.values()))
    if isinstance(told, list):
        return sum(map(count_values, told))
    return 1


class _Text(HTMLParser):
    """Visible text, the names of marks in pictures, and where marks are."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _HIDDEN
        places = [f"{name}={value}" for name, value in attrs if name in _PLACES]
        if places and not self._hidden:
            self.pieces.append(f"<{tag} {' '.join(places)}>")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._hidden:
            self.pieces.append(data.strip())


def page_differences(told: str, found: str) -> Iterator[Difference]:
    """Where two pages show other text, or draw a mark elsewhere; `where` is empty."""
    sides = _pieces(told), _pieces(found)
    matcher = SequenceMatcher(None, *sides, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            shown = (" ".join(sides[0][a:b]), " ".join(sides[1][c:d]))
            yield Difference("", *(text[:_MOST_SHOWN] for text in shown))


def _pieces(page: str) -> list[str]:
    reader = _Text()
    reader.feed(page)
    return reader.pieces
