"""Restated levels as the JSON that other programs read; its keys stay."""

from collections.abc import Sequence
from typing import Any

import msgspec

from proa.bench.restate.restated import Restated, stats_of

_UNKNOWN = ("client", "gpu", "gauges", "cache", "verdict", "attainment", "users", "rate")


class ImportStart(msgspec.Struct, frozen=True):
    """Levels of other tools' files without their requests, each with the name of its file."""

    files: list[str]
    levels: list[Restated]


class ImportEnd(msgspec.Struct, frozen=True):
    """All requests were read."""


class ImportResult(msgspec.Struct, frozen=True):
    """`levels` are whole; one for each name in `files`."""

    files: list[str]
    levels: list[Restated]


def document(result: ImportResult) -> dict[str, Any]:
    """`told` is as the tool printed it; `notes` and `lost` are codes."""
    pairs = zip(result.files, result.levels, strict=True)
    return {"levels": [_level(file, level) for file, level in pairs]}


def _level(file: str, level: Restated) -> dict[str, Any]:
    stats = stats_of(level)
    ours: dict[str, Any] = {} if stats is None else msgspec.to_builtins(stats)
    for name in _UNKNOWN:
        ours.pop(name, None)
    about = {"file": file, "tool": level.tool, "version": level.version, "model": level.model}
    load = {"users": level.users, "rate": level.rate}
    return {**about, **load, **ours, "told": level.told, "notes": level.notes, "lost": level.lost}


def without_requests(levels: Sequence[Restated]) -> list[Restated]:
    """What is told of levels beside their requests."""
    return [msgspec.structs.replace(level, samples=[]) for level in levels]
