"""The text of keys.toml, changed line by line: comments and all other keys stay as written.

Whoever calls reads the result again: text that is written in another way comes out wrong.
"""

import re
from collections.abc import Mapping

_KEYS_HEADER = re.compile(r"\s*\[\[\s*keys\s*\]\]")
_ANY_HEADER = re.compile(r"\s*\[")
_SETTING = re.compile(r"\s*([A-Za-z0-9_]+)\s*=")
_COMMENT = re.compile(r"\s*#.*")


def without_table(text: str, index: int) -> str:
    """The text without its `index`-th `[[keys]]` table, and the comments in it."""
    lines = text.splitlines(keepends=True)
    first, end = _table(lines, index)
    return "".join(lines[:first] + lines[end:])


def with_values(text: str, index: int, values: Mapping[str, str | None]) -> str:
    """The text with other values, as TOML, in its `index`-th `[[keys]]` table.

    None takes one out.
    """
    lines = text.splitlines(keepends=True)
    first, end = _table(lines, index)
    kept: list[str] = []
    left = {name: value for name, value in values.items() if value is not None}
    last = min(1, end - first)  # the header
    for line in lines[first:end]:
        setting = _SETTING.match(line)
        name = setting[1] if setting else ""
        if name not in values:
            kept.append(line)
        elif name in left:
            kept.append(f"{name} = {left.pop(name)}{_comment(line)}\n")
        else:
            continue
        if setting:  # what is new goes after the last one
            last = len(kept)
    if kept[last - 1 : last] and not kept[last - 1].endswith("\n"):
        kept[last - 1] += "\n"
    kept[last:last] = [f"{name} = {value}\n" for name, value in left.items()]
    return "".join(lines[:first] + kept + lines[end:])


def _table(lines: list[str], index: int) -> tuple[int, int]:
    """Where a table begins and ends, both 0 where it is not."""
    headers = [i for i, line in enumerate(lines) if _ANY_HEADER.match(line)]
    own = [i for i in headers if _KEYS_HEADER.match(lines[i])]
    if index >= len(own):
        return 0, 0
    first = own[index]
    return first, min((i for i in headers if i > first), default=len(lines))


def _comment(line: str) -> str:
    """The comment at the end of a line; values of keys.toml hold no number sign."""
    found = _COMMENT.search(line)
    return found[0].rstrip("\n") if found else ""
