"""A model of the user's own: one `[[models]]` table."""

from collections.abc import Mapping

import msgspec

from proa.catalog.models import ModelRow, known_model, model_of_row
from proa.catalog.user_fields import UserTable
from proa.domain.llm import LlmSpec
from proa.errors import InputError

KEYS = (
    "id",
    "like",
    "config",
    "quantization_config",
    "parameters",
    "extra_parameters",
    "aliases",
    "source",
)
"""All keys of a `[[models]]` table."""


def user_model(raw: Mapping[str, object], at: str, file: str) -> tuple[LlmSpec, tuple[str, ...]]:
    """The model and the other names that it takes.

    Raises:
        ConfigError: a key is unknown, missing or cannot be used.
    """
    table = UserTable(raw, at, file)
    table.only(KEYS)
    config, quantization = table.table("config"), table.table("quantization_config")
    if table.has("like") == (config is not None):
        raise table.wrong("config", "either `config` (keys of a config.json) or `like`, not both")
    row = ModelRow(
        id=table.text("id"),
        source=table.text("source", file),
        parameters=_count(table, "parameters"),
        extra_parameters=_count(table, "extra_parameters"),
        like=_like(table),
        config=_raw(config),
        quantization_config=_raw(quantization),
        aliases=table.texts("aliases"),
    )
    try:
        return model_of_row(row), row.aliases
    except InputError as bad:
        raise table.wrong("quantization_config" if quantization else "config", str(bad)) from bad


def _like(table: UserTable) -> str | None:
    if not table.has("like"):
        return None
    base = known_model(table.text("like"))
    if base is None:
        raise table.wrong("like", "a model of the catalogue, by its whole name")
    return base.id


def _count(table: UserTable, key: str) -> int | None:
    told = table.number_or_none(key, None)
    if told is not None and not told.is_integer():
        raise table.wrong(key, "a whole number")
    return None if told is None else int(told)


def _raw(table: UserTable | None) -> msgspec.Raw:
    return msgspec.Raw() if table is None else msgspec.Raw(msgspec.json.encode(table.raw()))
