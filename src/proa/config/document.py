"""A TOML file as data, and the line on which each of its keys stands."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from proa.config.faults import Fault, one_fault

KeyPath = tuple[str | int, ...]

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]")
_BARE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=""")


class Document(msgspec.Struct, frozen=True):
    """A file that was read; `name` is how messages call it."""

    name: str
    data: dict[str, Any]
    lines: dict[KeyPath, int]

    def line(self, path: Sequence[str | int]) -> int | None:
        """Line of the key, or of the nearest key or table around it."""
        for length in range(len(path), 0, -1):
            if (found := self.lines.get(tuple(path[:length]))) is not None:
                return found
        return None

    def fault(
        self,
        path: Sequence[str | int],
        accepted: str,
        *,
        shown: str | None = None,
        problem: str = "",
    ) -> Fault:
        """A fault at a key of this file."""
        return Fault(
            file=self.name,
            key=dotted(path),
            line=self.line(path),
            shown=shown,
            problem=problem,
            accepted=accepted,
        )


def read_document(path: Path) -> Document:
    """The file as a document.

    Raises:
        ConfigError: it cannot be read, is not UTF-8 or not TOML.
    """
    return parse_document(str(path), read_text(path))


def read_text(path: Path) -> str:
    """The file's text, without a byte order mark.

    Raises:
        ConfigError: it cannot be read or is not UTF-8.
    """
    name = str(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise one_fault(name, f"is not UTF-8 at byte {error.start}", "a UTF-8 text") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise one_fault(name, f"cannot be read ({reason})", "a readable file") from error


def parse_document(name: str, text: str) -> Document:
    """TOML text as a document.

    Raises:
        ConfigError: the text is not TOML.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # ValueError is TOMLDecodeError, and an integer of more than 4300 digits.
        at = _AT.search(str(error))
        line = None if at is None else int(at[1] or max(1, len(text.splitlines())))
        accepted = "a TOML file, see https://toml.io"
        told = _AT.sub("", str(error)) + (f" (column {at[2]})" if at and at[2] else "")
        raise one_fault(name, f"is not TOML: {told}", accepted, line=line) from error
    return Document(name, data, key_lines(text))


def key_lines(text: str) -> dict[KeyPath, int]:
    """Lines of tables and keys, from 1; of keys inside inline tables only the outer one.

    A reading by line, not a parser: text inside a multi-line string may be taken for
    a key, which costs a wrong line number in a message and nothing else.
    """
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _table_path(_parts(header[2]), counts, is_array=header[1] == "[[")
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault(table + _parts(key[1]), number)
    return lines


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _table_path(parts: tuple[str, ...], counts: dict[KeyPath, int], *, is_array: bool) -> KeyPath:
    path: KeyPath = ()
    for depth, part in enumerate(parts, start=1):
        path += (part,)
        if is_array and depth == len(parts):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path += (counts[path],)
    return path


def dotted(path: Sequence[str | int]) -> str:
    """A key path as messages write it: `engines[1].url`; odd keys are quoted."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{_written(part)}" if text else _written(part)
    return text


def _written(key: str) -> str:
    return key if _BARE.fullmatch(key) else ascii(key)
