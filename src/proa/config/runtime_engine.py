"""Engines that come while the gateway runs, checked as those of proa.toml are."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel

from proa.config import fields as f
from proa.config.build import engine_spec
from proa.config.document import Document
from proa.config.engine_tls import engine_tls_faults, unnamed_files
from proa.config.environment import engine_key
from proa.config.faults import ConfigFaults, Fault
from proa.config.reach import NO_LIST, Grounds, runtime_faults
from proa.config.tables import EngineTable, Table
from proa.config.validation import validate
from proa.domain.fleet import EngineSpec

PREFIX = "PROA_"


class EngineChangeTable(Table):
    """What can be changed of an engine while it serves; null gives back the file's value."""

    weight: f.Weight | None = None
    max_concurrent_requests: f.CountOrOff | None = None
    draining: bool | None = None


class RuntimeRules(msgspec.Struct, frozen=True, kw_only=True):
    """What proa.toml lets an engine of the runtime name.

    Its key may come from `variables`, those that proa.toml names, and from variables that
    begin with `PROA_`: who may add an engine must not read the rest of the environment.
    The same holds for `tls_files`. `by_api`: no unix sockets but those that are listed.
    """

    variables: frozenset[str] = frozenset()
    tls_files: frozenset[Path] = frozenset()
    directory: Path = Path()
    grounds: Grounds = NO_LIST
    by_api: bool = False


def read_engine(
    data: Mapping[str, Any],
    *,
    source: str,
    rules: RuntimeRules,
    environ: Mapping[str, str] = os.environ,
) -> EngineSpec:
    """One engine with the keys of `[[engines]]`; `source` names it in messages.

    Raises:
        ConfigError: `ConfigFaults` with everything that is wrong.
    """
    document = Document(source, dict(data), {})
    table, faults = validate(EngineTable, document)
    faults += runtime_faults(document, rules.grounds, by_api=rules.by_api)
    unnamed = unnamed_files(document, rules.directory, rules.tls_files)
    faults += unnamed or engine_tls_faults(document, ("tls",), rules.directory)
    variable = data.get("api_key_env")
    keys: dict[str, str] = {}
    if isinstance(variable, str) and variable and f.VARIABLE.fullmatch(variable):
        if variable in rules.variables or variable.startswith(PREFIX):
            keys, unset = engine_key(document, ("api_key_env",), environ)
            faults += unset
        else:
            faults.append(_not_allowed(document))
    if table is None or faults:
        raise ConfigFaults(faults)
    return engine_spec(table, keys, rules.directory, rules.grounds.runtime)


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
