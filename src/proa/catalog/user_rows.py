"""Rows of the user's own: GPUs and models of a TOML file, before those of the catalogue."""

from collections.abc import Mapping

import msgspec

from proa.catalog.gpus import GpuRow, find_gpu, gpu_names, plain_gpu_name
from proa.catalog.models import find_model
from proa.catalog.names import tail
from proa.catalog.user_gpus import gpu_row
from proa.catalog.user_models import user_model
from proa.domain.gpu import GpuSpec
from proa.domain.llm import LlmSpec
from proa.errors import ConfigError


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """The catalogue with the user's rows before it; without any, it is the catalogue itself."""

    gpus: dict[str, GpuSpec] = msgspec.field(default_factory=dict)
    models: dict[str, LlmSpec] = msgspec.field(default_factory=dict)

    def find_gpu(self, name: str) -> GpuSpec:
        """As `proa.catalog.gpus.find_gpu`, the user's rows first.

        Raises:
            InputError: no row has that name.
        """
        return self.gpus.get(plain_gpu_name(name)) or find_gpu(name)

    def find_model(self, name: str) -> LlmSpec:
        """As `proa.catalog.models.find_model`, the user's rows first.

        Raises:
            InputError: no row or several have that name.
        """
        return self.models.get(name.strip().casefold()) or find_model(name)


def catalogue_from_toml(document: Mapping[str, object], *, file: str) -> Catalogue:
    """The `[[gpus]]` and `[[models]]` of a parsed TOML file; other tables are not looked at.

    `file` is named in errors.

    Raises:
        ConfigError: an unknown key, a missing one, or a value that cannot be used.
    """
    gpus: dict[str, GpuSpec] = {}
    for key, table in _rows(document, "gpus", file):
        row = gpu_row(table, key, file)
        spec = _without_aliases(row)
        gpus |= dict.fromkeys(gpu_names(row), spec)
    models: dict[str, LlmSpec] = {}
    for key, table in _rows(document, "models", file):
        llm, aliases = user_model(table, key, file)
        names = (tail(llm.id), llm.id.casefold(), *map(str.casefold, aliases))
        models |= dict.fromkeys(names, llm)
    return Catalogue(gpus=gpus, models=models)


def _rows(
    document: Mapping[str, object], name: str, file: str
) -> list[tuple[str, Mapping[str, object]]]:
    found = document.get(name, [])
    accepted = f"tables, each begun with [[{name}]]"
    if not isinstance(found, list):
        raise ConfigError(file, name, found, accepted)
    for at, row in enumerate(found):
        if not isinstance(row, Mapping):
            raise ConfigError(file, f"{name}[{at}]", row, accepted)
    return [(f"{name}[{at}]", row) for at, row in enumerate(found)]


def _without_aliases(row: GpuRow) -> GpuSpec:
    told = {name: getattr(row, name) for name in GpuSpec.__struct_fields__}
    return msgspec.convert(told, GpuSpec)
