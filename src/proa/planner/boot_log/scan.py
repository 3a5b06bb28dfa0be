"""Finding numbers in a log's text: colours, several starts in one file, lines of several ranks."""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from proa.planner.boot_log.facts import GIB

Amounts: TypeAlias = dict[str, dict[str, float]]
"""Rank → name of a fact → its number, the last that was said."""

Choice: TypeAlias = Literal["least", "most"]

_SHORT = 1_000_000
_ARGUMENTS = ("args", "config: model", "max_num_batched_tokens", "max_total_num_tokens")
_CUES = (
    *_ARGUMENTS,
    *("GiB", "MiB", " GB", " blocks:", "gpu_blocks", "KV cache size", "tokens per request"),
    *("#tokens", "layer_tokens", "version ", "LLM engine", "Defaulting", "rchitecture"),
    *("arch  ", "general.", "loaded meta data", "n_ctx", "n_seq_max", "n_ubatch", "block size"),
    *("gpu-memory-utilization", "msg=", "file type", "memory_breakdown"),
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RANK = re.compile(
    r"\(((?:Ray)?(?:\w*Worker\w*|EngineCore\w*|APIServer\w*)[^()\n]*)\)|\b((?:DP\d+ )?TP\d+)\b"
)


def plain(text: str) -> str:
    """Without terminal colours and carriage returns."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def last_start(text: str, opening: re.Pattern[str], essential: re.Pattern[str]) -> str:
    """The text from the last `opening` on that an `essential` line follows.

    A container that was restarted has several starts in one log; the last complete one counts.
    """
    starts = [match.start() for match in opening.finditer(text)]
    for start in reversed(starts):
        if essential.search(text, start):
            return text[start:]
    return text


def rank_of(text: str, position: int) -> str:
    """Who says the line that `position` is in: a worker's name, or empty."""
    start = text.rfind("\n", 0, position) + 1
    names = [first or second for first, second in _RANK.findall(text, start, position)]
    return names[-1] if names else ""


def amounts(text: str, patterns: tuple[re.Pattern[str], ...]) -> Amounts:
    """All named groups of `patterns` that match, as numbers, by rank."""
    found: Amounts = {}
    for pattern in patterns:
        for match in pattern.finditer(text):
            facts = found.setdefault(rank_of(text, match.start()), {})
            for name, value in match.groupdict().items():
                if value is not None and (read := number(value)) is not None:
                    facts[name] = read
    return found


def number(text: str) -> float | None:
    """`1,096,000` or `-15.24`; None if it is none after all (`1.2.3`)."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def binding_rank(found: Amounts, name: str) -> str | None:
    """The rank with the least of `name`: the smallest KV cache is everyone's."""
    ranks = [rank for rank, facts in found.items() if name in facts]
    return min(ranks, key=lambda rank: found[rank][name]) if ranks else None


def pick(found: Amounts, name: str, choice: Choice, rank: str | None = None) -> float | None:
    """`name` as `rank` said it, else the least or the most that any rank said."""
    if rank is not None and name in found.get(rank, {}):
        return found[rank][name]
    values = [facts[name] for facts in found.values() if name in facts]
    if not values:
        return None
    return min(values) if choice == "least" else max(values)


def gib_bytes(value: float | None) -> int | None:
    """Bytes of a number of GiB."""
    return None if value is None else round(value * GIB)


def whole(value: float | None) -> int | None:
    """The same as a whole number."""
    return None if value is None else int(value)


def argument_lines(text: str) -> str:
    """The lines of `text` on which an engine tells its settings."""
    lines = (line for line in text.split("\n") if any(cue in line for cue in _ARGUMENTS))
    return "\n".join(lines)


def settings(text: str, key: str) -> Iterator[str]:
    """Values of `key` in argument lists: `key=8192,`, `'key': 'auto',`."""
    pattern = rf"{key}['\"]?(?:=|: ?)['\"]?(?:torch\.)?([^\s,'\")}}]+)"
    for match in re.finditer(pattern, text):
        before = text[match.start() - 1 : match.start()]
        if not (before.isalnum() or before in ("_", "-", ".")) or before == "":
            yield match[1].rstrip(".")


def relevant(text: str) -> str:
    """`text`, without lines that hold neither an amount nor a setting where it is a long one."""
    if len(text) <= _SHORT:
        return text
    return "\n".join(line for line in text.split("\n") if any(cue in line for cue in _CUES))
