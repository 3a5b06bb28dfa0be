"""Models by the names that the hub gives them: `find_model`."""

import functools
from pathlib import Path

import msgspec

from proa.catalog.hub_config import llm_from_config
from proa.catalog.names import nearest, tail
from proa.domain.llm import LlmSpec
from proa.errors import InputError


class ModelRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of models.jsonl: what a public config.json says, under its own keys.

    `parameters` is a published count of all numbers, embeddings included; `extra_parameters`
    those outside the decoder where config.json does not tell (a vision tower). A row with `like`
    has the architecture of that other row; `quantization_config` replaces the one that it has.
    """

    id: str
    source: str
    parameters: int | None = None
    config: msgspec.Raw = msgspec.Raw()
    like: str | None = None
    quantization_config: msgspec.Raw = msgspec.Raw()
    extra_parameters: int | None = None
    aliases: tuple[str, ...] = ()


def find_model(name: str) -> LlmSpec:
    """The model with this id, whatever its case; the part before the slash may be left out.

    Raises:
        InputError: no row or several have that name; the message tells the nearest.
    """
    ids = _ids(name)
    if not ids:
        raise InputError(f"model {name!r} is not in the catalogue; nearest: {_nearest(name)}")
    if len(ids) > 1:
        raise InputError(f"model {name!r} may be any of {', '.join(ids)}: give the whole name")
    return _model(ids[0])


def known_model(name: str) -> LlmSpec | None:
    """As `find_model`, with None for a name that no row has, or several."""
    ids = _ids(name)
    return _model(ids[0]) if len(ids) == 1 else None


def model_ids() -> tuple[str, ...]:
    """All ids, in the order of the file."""
    return tuple(model_rows())


@functools.cache
def model_rows() -> dict[str, ModelRow]:
    """All rows by id, with their configs not yet decoded."""
    lines = Path(__file__).with_name("models.jsonl").read_bytes().splitlines()
    decoder = msgspec.json.Decoder(ModelRow)
    return {row.id: row for row in map(decoder.decode, lines)}


def _ids(name: str) -> tuple[str, ...]:
    return _names().get(name.strip().casefold(), ())


@functools.cache
def _names() -> dict[str, tuple[str, ...]]:
    """Every accepted name in lower case, to the ids that have it; whole ids go first."""
    named: dict[str, tuple[str, ...]] = {}
    for row in model_rows().values():
        for name in {tail(row.id), *map(str.casefold, row.aliases)}:
            named[name] = (*named.get(name, ()), row.id)
    return named | {row.id.casefold(): (row.id,) for row in model_rows().values()}


@functools.cache
def _model(row_id: str) -> LlmSpec:
    return model_of_row(model_rows()[row_id])


def model_of_row(row: ModelRow) -> LlmSpec:
    """What a row says, with what it takes over from the row that it is like.

    Raises:
        InputError: its config.json lacks a field.
    """
    llm = llm_from_config(row_config(row), id=row.id, source=row.source)
    chain = _chain(row)
    told = [each.extra_parameters for each in chain if each.extra_parameters is not None]
    counts = [each.parameters for each in chain if each.parameters is not None]
    return msgspec.structs.replace(
        llm,
        parameters=counts[0] if counts else None,
        extra_parameters=told[0] if told else llm.extra_parameters,
    )


def _chain(row: ModelRow) -> list[ModelRow]:
    """The row, the row that it is like, and so on."""
    return [row] if row.like is None else [row, *_chain(model_rows()[row.like])]


def row_config(row: ModelRow) -> dict[str, object]:
    """The config.json of a row, that of the row which it is like included."""
    if row.like is not None:
        base = row_config(model_rows()[row.like])
    else:
        base = msgspec.json.decode(row.config)
    if row.quantization_config:
        base["quantization_config"] = msgspec.json.decode(row.quantization_config)
    return base


def _nearest(name: str) -> str:
    short = {each: ids[0] for each, ids in _names().items() if "/" not in each}
    return nearest(tail(name.strip()), short)
