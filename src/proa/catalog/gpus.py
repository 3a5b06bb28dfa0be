"""GPUs by their id, which is `family-memory`, or by the names that people write: `find_gpu`."""

import functools
import re
from pathlib import Path

import msgspec

from proa.catalog.names import nearest
from proa.domain.gpu import GpuSpec
from proa.errors import InputError


class GpuRow(GpuSpec, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of gpus.jsonl; `aliases` are names that `find_gpu` takes, too."""

    aliases: tuple[str, ...] = ()


def find_gpu(name: str) -> GpuSpec:
    """The GPU with this id or alias; case, what stands between words, and the maker do not matter.

    `H100-80GB-SXM`, `NVIDIA GeForce RTX 5090` and `5090` are found.

    Raises:
        InputError: no row has that name; the message tells the nearest.
    """
    found = known_gpu(name)
    if found is None:
        near = nearest(name.strip().casefold(), {row: row for row in gpu_rows()})
        raise InputError(f"GPU {name!r} is not in the catalogue; nearest: {near}")
    return found


def known_gpu(name: str) -> GpuSpec | None:
    """As `find_gpu`, with None for a name that no row has."""
    row_id = _names().get(plain_gpu_name(name))
    return gpu_rows()[row_id] if row_id else None


@functools.cache
def gpu_rows() -> dict[str, GpuRow]:
    """All rows by id."""
    lines = Path(__file__).with_name("gpus.jsonl").read_bytes().splitlines()
    decoder = msgspec.json.Decoder(GpuRow)
    return {row.id: row for row in map(decoder.decode, lines)}


@functools.cache
def _names() -> dict[str, str]:
    rows = gpu_rows().values()
    short = {plain_gpu_name(row.id.rpartition("-")[0]): row.id for row in rows}
    return short | {name: row.id for row in rows for name in gpu_names(row)}


def gpu_names(row: GpuRow) -> tuple[str, ...]:
    """The names that are a row's own: its id, its name and its aliases.

    The id without the memory finds it as well, where no other row has that name.
    """
    return tuple(plain_gpu_name(name) for name in (row.id, row.name, *row.aliases))


_MAKERS = re.compile(r"\b(nvidia|amd|intel|apple|tesla|geforce|instinct|radeon(?=[ -]rx))\b")
_BETWEEN = re.compile(r"[^a-z0-9.]+")


def plain_gpu_name(name: str) -> str:
    """In lower case, without the words of the maker, and with nothing between words."""
    return _BETWEEN.sub("", _MAKERS.sub("", name.casefold().replace("_", "-")))
