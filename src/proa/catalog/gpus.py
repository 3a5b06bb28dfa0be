"""GPUs by their id, which is `family-memory`, or by the names that people write: `find_gpu`."""

import functools
import pkgutil
import re

import msgspec

from proa.catalog.names import nearest
from proa.domain.gpu import GpuSpec
from proa.errors import InputError


class GpuRow(GpuSpec, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of gpus.jsonl; `aliases` are names that `find_gpu` takes, too."""

    aliases: tuple[str, ...] = ()


def find_gpu(name: str) -> GpuSpec:
    """The GPU with this id or alias; case, blanks, `_` and the words of the maker do not matter.

    `H100-80GB-SXM`, `NVIDIA GeForce RTX 5090` and `5090` are found.

    Raises:
        InputError: no row has that name; the message tells the nearest.
    """
    found = known_gpu(name)
    if found is None:
        near = nearest(_plain(name), gpu_rows())
        raise InputError(f"GPU {name!r} is not in the catalogue; nearest: {near}")
    return found


def known_gpu(name: str) -> GpuSpec | None:
    """As `find_gpu`, with None for a name that no row has."""
    row_id = _names().get(_plain(name))
    return gpu_rows()[row_id] if row_id else None


@functools.cache
def gpu_rows() -> dict[str, GpuRow]:
    """All rows by id."""
    lines = (pkgutil.get_data(__package__, "gpus.jsonl") or b"").splitlines()
    decoder = msgspec.json.Decoder(GpuRow)
    return {row.id: row for row in map(decoder.decode, lines)}


@functools.cache
def _names() -> dict[str, str]:
    named: dict[str, str] = {}
    for row in gpu_rows().values():
        for name in (row.id, row.id.rpartition("-")[0], row.name, *row.aliases):
            named.setdefault(_plain(name), row.id)
    return named | {_plain(row_id): row_id for row_id in gpu_rows()}


_SEPARATORS = re.compile(r"[\s_/-]+")
_MAKERS = re.compile(r"^(nvidia|amd|intel|apple)-|\b(geforce|instinct|radeon-(?=rx))-?")


def _plain(name: str) -> str:
    joined = _SEPARATORS.sub("-", name.strip().casefold())
    joined = re.sub(r"(\d)-gb\b", r"\1gb", joined)
    return _MAKERS.sub("", _MAKERS.sub("", joined)).strip("-")
