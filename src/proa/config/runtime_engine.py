"""Engines that come while the gateway runs, checked as those of proa.toml are."""

import os
from collections.abc import Mapping, Set
from typing import Any

from pydantic import BaseModel

from proa.config import fields as f
from proa.config.build import engine_spec
from proa.config.document import Document
from proa.config.environment import engine_key
from proa.config.faults import ConfigFaults, Fault
from proa.config.tables import EngineTable, Table
from proa.config.validation import validate
from proa.domain.fleet import EngineSpec

PREFIX = "PROA_"


class EngineChangeTable(Table):
    """What can be changed of an engine while it serves; null gives back the file's value."""

    weight: f.Weight | None = None
    max_concurrent_requests: f.CountOrOff | None = None
    draining: bool | None = None


def read_engine(
    data: Mapping[str, Any],
    *,
    source: str,
    variables: Set[str],
    environ: Mapping[str, str] = os.environ,
) -> EngineSpec:
    """One engine with the keys of `[[engines]]`; `source` names it in messages.

    Its key may come from `variables`, those that proa.toml names, and from variables that
    begin with `PROA_`: who may add an engine must not read the rest of the environment.

    Raises:
        ConfigError: `ConfigFaults` with everything that is wrong.
    """
    document = Document(source, dict(data), {})
    table, faults = validate(EngineTable, document)
    variable = data.get("api_key_env")
    keys: dict[str, str] = {}
    if isinstance(variable, str) and variable and f.VARIABLE.fullmatch(variable):
        if variable in variables or variable.startswith(PREFIX):
            keys, unset = engine_key(document, ("api_key_env",), environ)
            faults += unset
        else:
            faults.append(_not_allowed(document))
    if table is None or faults:
        raise ConfigFaults(faults)
    return engine_spec(table, keys)


def read_change(data: Mapping[str, Any], *, source: str) -> dict[str, Any]:
    """The keys of a change that were given.

    Raises:
        ConfigError: `ConfigFaults` with everything that is wrong.
    """
    document = Document(source, dict(data), {})
    table, faults = validate(EngineChangeTable, document)
    if table is None or faults:
        raise ConfigFaults(faults)
    given = table.model_dump(exclude_unset=True)
    if not given:
        known = ", ".join(EngineChangeTable.model_fields)
        raise ConfigFaults([document.fault((), f"known are {known}", problem="changes nothing")])
    if given.get("draining", False) is None:
        raise ConfigFaults([document.fault(("draining",), "accepted is true or false")])
    return given


def engine_schemas() -> tuple[type[BaseModel], type[BaseModel]]:
    """The forms of an added engine and of a change, for the API's document."""
    return EngineTable, EngineChangeTable


def _not_allowed(document: Document) -> Fault:
    return document.fault(
        ("api_key_env",),
        f"a variable that proa.toml names, or one that begins with {PREFIX}",
        problem="is not for engines added at runtime",
    )
